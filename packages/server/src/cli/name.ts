const NAME = /^[^\p{Cc}]{1,100}$/u

/** Whether a tenant, plan or key may have this name. Names are printed, and people must be able to tell them apart. */
export function isName(text: string): boolean {
  return NAME.test(text) && text.trim() === text
}

export const NAME_RULE =
  'A name has 1 to 100 characters, no control characters, and no spaces at its beginning or end.'
