const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, character => ENTITIES[character] ?? '')
}

export function unescape(text: string): string {
  return Object.entries(ENTITIES).reduceRight(
    (all, [character, entity]) => all.replaceAll(entity, character),
    text,
  )
}

/** Makes ids of headings as GitHub does, since the links of the pages rely on them. */
export function slugOf(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')
}
