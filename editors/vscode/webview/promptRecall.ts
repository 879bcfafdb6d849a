/** Goes through the prompts of the conversation, newest first, as a shell does. */
export class PromptRecall {
  /** How many prompts back the shown one is; 0 is the empty prompt. */
  private back = 0;

  constructor(private readonly prompts: () => readonly string[]) {}

  /** What to show instead of `shown`; undefined where the key is the text's: something else was typed, or there is no more. */
  step(by: 1 | -1, shown: string): string | undefined {
    const prompts = this.prompts();
    if (shown === "") this.back = 0;
    else if (this.back === 0 || shown !== prompts.at(-this.back)) return undefined;
    const next = this.back + by;
    if (next < 0 || next > prompts.length) return undefined;
    this.back = next;
    return next === 0 ? "" : prompts.at(-next);
  }
}
