const NAME = /^[^\p{Cc}]{1,100}$/u

/**
 * Whether a tenant, a plan or a key may have this name: people have to tell names apart, and they are printed.
 */
export function isName(text: string): boolean {
  return NAME.test(text) && text.trim() === text
}

export const NAME_RULE =
  'A name has 1 to 100 characters, no control characters, and no spaces at its beginning or end.'
