/** What tells whether a part counts as an attachment. */
export interface PartTraits {
  /** Lower-cased `type/subtype`. */
  type: string
  disposition: string
  hasFileName: boolean
  hasContentId: boolean
}

/** A part with disposition attachment or a file name, save images that the text shows. */
export function isAttachment(part: PartTraits): boolean {
  if (part.type.startsWith('multipart/')) return false
  if (part.disposition === 'attachment') return true
  if (!part.hasFileName) return false
  return !(part.type.startsWith('image/') && (part.disposition === 'inline' || part.hasContentId))
}
