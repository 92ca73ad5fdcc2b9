const NAME = /^[^\p{Cc}]{1,100}$/u

/** Whether a tenant, a plan or a key may be called so: such names are told apart, and printed, by people. */
export function isName(text: string): boolean {
  return NAME.test(text) && text.trim() === text
}

export const NAME_RULE =
  'A name has 1 to 100 characters, no control characters, and no spaces at its beginning or end.'
