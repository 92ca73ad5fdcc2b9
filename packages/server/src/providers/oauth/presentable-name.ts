const NAME_CHARACTERS_MAX = 255

/** A name in a form that the header of a message may have; null if nothing is left of it. */
export function presentableName(name: string | null): string | null {
  const line = name?.replaceAll(/\p{Cc}+/gu, ' ').trim() ?? ''
  return line === '' ? null : [...line].slice(0, NAME_CHARACTERS_MAX).join('')
}
