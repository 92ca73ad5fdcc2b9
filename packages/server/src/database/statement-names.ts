import { createHash } from 'node:crypto'

/** A connection keeps what it has prepared, so an unlimited variety of texts must not get names. */
const NAMED_STATEMENTS_MAX = 1000

/**
 * Gives each statement text a name that is the same in every process. After `NAMED_STATEMENTS_MAX` texts, further ones
 * get no name and are parsed at each use.
 */
export function statementNames(max = NAMED_STATEMENTS_MAX): (text: string) => string | undefined {
  const names = new Map<string, string>()
  return text => {
    const known = names.get(text)
    if (known !== undefined || names.size >= max) return known
    const name = `w${createHash('sha256').update(text).digest('base64url').slice(0, 22)}`
    names.set(text, name)
    return name
  }
}
