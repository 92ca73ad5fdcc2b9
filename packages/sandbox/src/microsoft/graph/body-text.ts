import { stripTags } from '../../mail/snippet.ts'

/** A plain text as the page that Exchange makes of it. */
export function htmlOf(text: string): string {
  const lines = text.split(/\r?\n/).map(line => escaped(line))
  return [
    '<html><head>',
    '<meta http-equiv="Content-Type" content="text/html; charset=utf-8">',
    '<meta name="Generator" content="Microsoft Exchange Server">',
    '</head><body>',
    `<font size="2"><span style="font-size:11pt;"><div class="PlainText">${lines.join('<br>\r\n')}</div></span></font>`,
    '</body></html>',
  ].join('\r\n')
}

/** The text of a page, without its tags. */
export const textOfHtml = (html: string): string =>
  stripTags(html.replaceAll(/<br\s*\/?>|<\/p>|<\/div>/gi, '$&\r\n'))
    .replaceAll(/[ \t]+/g, ' ')
    .trim()

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
