import { z } from 'zod'
import { singleLine } from '../shapes.ts'

const ADDRESS_CHARACTERS_MAX = 320
/** RFC 5321 section 4.5.3.1.1, in bytes. */
const LOCAL_PART_BYTES_MAX = 64

/** A dot-atom (RFC 5322 section 3.2.3), with the characters beyond ASCII of RFC 6532 section 3.2. */
const LOCAL_PART =
  /^[\w!#$%&'*+/=?^`{|}~\u0080-\u{10ffff}-]+(?:\.[\w!#$%&'*+/=?^`{|}~\u0080-\u{10ffff}-]+)*$/u
/** Control and format characters, lone surrogates, and every kind of space. */
const INVISIBLE = /[\p{C}\p{Z}]/u
/** Letters, digits, hyphens and dots; beyond ASCII, the conversion to A-labels decides. */
const DOMAIN = /^[a-z0-9.\u0080-\u{10ffff}-]+$/iu
/** At least two labels (RFC 1123 section 2.1), of which the last is no number. */
const A_LABELS =
  /^(?=.{1,255}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Whether mail can be addressed so: `dot-atom@domain`, where both sides may have characters beyond ASCII. Quoted local
 * parts, comments and address literals are not accepted.
 */
export function isMailAddress(value: string): boolean {
  const at = value.lastIndexOf('@')
  const [local, domain] = [value.slice(0, Math.max(at, 0)), value.slice(at + 1)]
  if (!LOCAL_PART.test(local) || !DOMAIN.test(domain) || INVISIBLE.test(value)) return false
  if (new TextEncoder().encode(local).length > LOCAL_PART_BYTES_MAX) return false
  return URL.canParse(`http://${domain}`) && A_LABELS.test(new URL(`http://${domain}`).hostname)
}

/** An address in a body that mail is sent from or to. The domain may be written in any script. */
export const mailAddress = z
  .string()
  .max(ADDRESS_CHARACTERS_MAX, `must have at most ${ADDRESS_CHARACTERS_MAX} characters`)
  .refine(isMailAddress, 'must be an email address such as ada@example.com')
  .meta({ format: 'idn-email', maxLength: ADDRESS_CHARACTERS_MAX })

export const addressInput = z
  .strictObject({
    name: singleLine({ max: 256 }).nullish().describe('The display name.'),
    address: mailAddress,
  })
  .meta({ id: 'AddressInput' })
export type AddressInput = z.infer<typeof addressInput>
