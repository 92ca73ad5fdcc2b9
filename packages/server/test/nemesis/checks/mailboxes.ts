import type { MailboxState } from '../evidence.ts'
import { entriesOf, type Mark, type RequestEntry } from '../history.ts'
import type { Check, Violation } from '../violation.ts'

const LINES_SHOWN_MAX = 5

/** I5: the index equals the mail server, and what the API acknowledged is what the server has. */
export const checkMailboxes: Check = evidence => [
  ...evidence.end.mailboxes.flatMap(compareIndex),
  ...findLostMarks(evidence),
]

function compareIndex({ accountId, index, truth }: MailboxState): Violation[] {
  return compareLines(`account ${accountId}`, index, truth)
}

/** Compares what the index has with what the provider has, both in lines. */
export function compareLines(of: string, index: readonly string[], truth: readonly string[]): Violation[] {
  const missing = without(truth, index)
  const extra = without(index, truth)
  if (missing.length === 0 && extra.length === 0) return []
  const told = [
    ...(missing.length > 0 ? [`the index lacks ${shorten(missing)}`] : []),
    ...(extra.length > 0 ? [`the index has ${shorten(extra)}`] : []),
  ]
  return [broken(`${of}: ${told.join('; ')}`)]
}

/** Lines that are there more often than among the others. */
function without(lines: readonly string[], others: readonly string[]): string[] {
  const left = new Map<string, number>()
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1)
  return lines.filter(line => {
    const count = left.get(line) ?? 0
    left.set(line, count - 1)
    return count <= 0
  })
}

function shorten(lines: readonly string[]): string {
  const more = lines.length > LINES_SHOWN_MAX ? ` and ${lines.length - LINES_SHOWN_MAX} more` : ''
  return `${lines
    .slice(0, LINES_SHOWN_MAX)
    .map(line => `“${line}”`)
    .join(', ')}${more}`
}

/** The last acknowledged value of each field, unless the outcome of a later request is unknown. */
const findLostMarks: Check = ({ history, end }) => {
  const last = new Map<string, { mark: Mark; isCertain: boolean }>()
  const marks = entriesOf(history, 'request')
    .filter((entry): entry is RequestEntry & { mark: Mark } => entry.mark !== null)
    .toSorted((one, other) => one.from - other.from)
  for (const { mark, outcome } of marks) {
    const name = `${mark.accountId} ${mark.subject} ${mark.field}`
    const before = last.get(name)
    if (outcome === 'ok') last.set(name, { mark, isCertain: true })
    else if (outcome === 'unknown' && before && before.mark.value !== mark.value) before.isCertain = false
  }
  const flags = new Map(end.flags.map(flag => [`${flag.accountId} ${flag.subject}`, flag]))
  return [...last.values()].flatMap(({ mark, isCertain }) => {
    const { accountId, subject, field, value } = mark
    const is = flags.get(`${accountId} ${subject}`)
    if (!isCertain || !is || is[field] === value) return []
    return [broken(`“${subject}” in ${accountId}: ${field} ${value} was acknowledged, and is ${is[field]}`)]
  })
}

function broken(message: string): Violation {
  return { invariant: 'I5', message }
}
