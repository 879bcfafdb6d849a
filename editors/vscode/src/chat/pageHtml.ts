/** The chat page. Its policy lets in our own script, style and font, and nothing from any other place. */
export function pageHtml(resources: { nonce: string; cspSource: string; script: string; style: string }): string {
  const { nonce, cspSource, script, style } = resources;
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${cspSource}`,
    `font-src ${cspSource}`,
    "img-src 'none'",
    "form-action 'none'",
    "base-uri 'none'",
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${style}">
<title>Agent</title>
</head>
<body>
<main id="conversation" role="log" aria-live="off" aria-label="Conversation with the agent" tabindex="0"></main>
<div id="composer"></div>
<div id="announcements" class="visually-hidden" role="status" aria-atomic="false" aria-relevant="additions"></div>
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>`;
}
