import { readTag } from '../mime/html-text.ts'

const HIDDEN =
  'display:none;font-size:1px;line-height:1px;max-height:0;max-width:0;opacity:0;overflow:hidden;mso-hide:all'

/** Puts the preview at the top of the body, hidden. Its character references are kept; it has no elements. */
export function withPreview(html: string, preview: string): string {
  const at = bodyStart(html)
  return `${html.slice(0, at)}${hiddenBlock(preview)}${html.slice(at)}`
}

/** The HTML before the preview was put into it. */
export function withoutPreview(html: string, preview: string): string {
  return html.replace(hiddenBlock(preview), () => '')
}

function hiddenBlock(preview: string): string {
  return `<div style="${HIDDEN}">${preview.replaceAll('<', '&lt;').replaceAll('>', '&gt;')}</div>`
}

/** The position at which the content of the body begins. */
function bodyStart(html: string): number {
  let headEnd = 0
  for (let position = html.indexOf('<'); position >= 0;) {
    const tag = readTag(html, position)
    if (!tag) break
    if (tag.name === 'body' && tag.isOpening) return tag.end
    if (
      (tag.name === 'html' && tag.isOpening) ||
      tag.name === '!doctype' ||
      (tag.name === 'head' && !tag.isOpening)
    )
      headEnd = tag.end
    position = html.indexOf('<', tag.end)
  }
  return headEnd
}
