import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import type { FeedEvent } from '../../sync/followed-account.ts'
import { fold } from '../../sync/fold-feed.ts'
import type { ContactState } from '../evidence.ts'
import { entriesOf, type ContactMark, type RequestEntry } from '../history.ts'
import type { Check, Violation } from '../violation.ts'
import { compareItems } from './events.ts'
import { compareLines } from './mailboxes.ts'

/**
 * The contacts of the index equal the cards of the server, which has each contact that the API acknowledged, and has it
 * once (I5). The feed leads from the contacts before the faults to those of the end, and no contact gets another id (I6).
 */
export const checkContacts: Check = evidence => [
  ...evidence.end.contacts.flatMap(state => {
    const { accountId, index, truth } = state
    const events = evidence.end.feed.filter(
      event =>
        event.accountId === accountId &&
        event.data.contact !== undefined &&
        BigInt(event.id) > BigInt(state.afterEventId),
    )
    return [
      ...compareLines(`contacts of account ${accountId}`, index, truth),
      ...findDoubled(state),
      ...compareFolded(state, events),
      ...findRenumbered(state, events),
    ]
  }),
  ...findLost(evidence),
]

/** Everyone who adds a card gives it a name of its own. */
function findDoubled({ accountId, truth }: ContactState): Violation[] {
  const names = truth.map(nameOf)
  const doubled = new Set(names.filter((name, index) => names.indexOf(name) !== index))
  return [...doubled].map(name => ({
    invariant: 'I5',
    message: `account ${accountId}: the server has “${name}” more than once`,
  }))
}

const nameOf = (line: string) => line.slice(0, line.indexOf(':'))

function compareFolded(
  { accountId, before, after }: ContactState,
  events: readonly FeedEvent[],
): Violation[] {
  const folded = new Map(before)
  try {
    for (const { type, data } of events) if (data.contact) fold(folded, type, data.contact)
  } catch (error) {
    return [{ invariant: 'I6', message: `account ${accountId}: ${String(error)}` }]
  }
  return compareItems(accountId, 'contact', folded, after)
}

function findRenumbered(
  { accountId, before, after }: ContactState,
  events: readonly FeedEvent[],
): Violation[] {
  const ids = new Map<string, Set<string>>()
  const seen: Contact[] = [
    ...before.values(),
    ...events.flatMap(({ data }) => data.contact ?? []),
    ...after.values(),
  ]
  for (const { id, displayName } of seen) {
    const name = displayName ?? ''
    ids.set(name, (ids.get(name) ?? new Set()).add(id))
  }
  return [...ids].flatMap(([name, held]): Violation[] =>
    held.size === 1
      ? []
      : [{ invariant: 'I6', message: `account ${accountId}: “${name}” had ${held.size} ids` }],
  )
}

/** Contacts that the API has made, and that nobody asked it to delete. */
const findLost: Check = ({ history, end }) => {
  const marked = entriesOf(history, 'request').filter(
    (entry): entry is RequestEntry & { contact: ContactMark } => entry.contact !== null,
  )
  const nameIn = ({ contact: { accountId, name } }: { contact: ContactMark }) => `${accountId} ${name}`
  const asked = new Set(marked.filter(({ method }) => method === 'DELETE').map(nameIn))
  const made = marked.filter(({ method, outcome }) => method === 'POST' && outcome === 'ok').map(nameIn)
  const there = new Set(
    end.contacts.flatMap(({ accountId, truth }) => truth.map(line => `${accountId} ${nameOf(line)}`)),
  )
  return [...new Set(made)].flatMap((name): Violation[] =>
    asked.has(name) || there.has(name)
      ? []
      : [
          {
            invariant: 'I5',
            message: `the contact ${name} was acknowledged, and the server does not have it`,
          },
        ],
  )
}
