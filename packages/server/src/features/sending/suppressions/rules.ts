/** Addresses that a text names. */
const NAMED_MAX = 20

/** The message of a refusal or a failure because of suppressed recipients. */
export function suppressedMessage(addresses: Iterable<string>): string {
  const all = [...addresses].toSorted()
  const more = all.length > NAMED_MAX ? ` and ${all.length - NAMED_MAX} more` : ''
  const verb = all.length === 1 ? 'is' : 'are'
  return `${all.slice(0, NAMED_MAX).join(', ')}${more} ${verb} suppressed.`
}
