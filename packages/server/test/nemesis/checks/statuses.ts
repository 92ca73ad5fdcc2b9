import { unlistedOf } from '../../sending/written-states.ts'
import type { EndState, Transition } from '../evidence.ts'
import type { Check, Violation } from '../violation.ts'

/** Every change of the status of a send. `failed` becomes `sent` if its copy turns up. */
const SENDS = {
  queued: ['sending', 'cancelled', 'failed'],
  sending: ['queued', 'sent', 'failed', 'cancelled'],
  failed: ['sent'],
}
/** Every change of a status that there may be. */
const ALLOWED: Record<Transition['kind'], Record<string, readonly string[]>> = {
  outbox: SENDS,
  // Nothing is announced of these.
  invitation: SENDS,
  account: {
    active: ['paused', 'reauth_required', 'disabled'],
    paused: ['active', 'reauth_required', 'disabled'],
    reauth_required: ['active', 'paused', 'disabled'],
    disabled: ['active', 'paused', 'reauth_required'],
  },
}

/** Events of which each entry into a status has exactly one. */
const ANNOUNCED: ReadonlyArray<{ kind: Transition['kind']; to: string; event: string }> = [
  { kind: 'account', to: 'reauth_required', event: 'account.reauth_required' },
  { kind: 'outbox', to: 'sent', event: 'send.sent' },
  { kind: 'outbox', to: 'failed', event: 'send.failed' },
]

/** I12: a status changes only as it may, each send is in a listed state, and the feed announces each entry once. */
export const checkStatuses: Check = ({ end }) => [
  ...end.transitions
    .filter(isForbidden)
    .map(({ kind, id, from, to }) => broken(`${kind} ${id} went from ${from} to ${to}`)),
  ...unlistedOf(end.outboxStates).map(({ status, phase, task }) =>
    broken(`an entry of the outbox was ${status}, with the phase ${phase} and the task ${task}`),
  ),
  ...ANNOUNCED.flatMap(rule => compareWithFeed(end, rule)),
]

function isForbidden({ kind, from, to, reason }: Transition): boolean {
  if (kind !== 'account' && from === 'failed') return to !== 'sent' || reason !== 'outcome_unknown'
  return ALLOWED[kind][from]?.includes(to) !== true
}

function compareWithFeed({ transitions, feed }: EndState, { kind, to, event }: (typeof ANNOUNCED)[number]) {
  const entered = countBy(
    transitions.filter(one => one.kind === kind && one.to === to),
    ({ id }) => id,
  )
  const announced = countBy(
    feed.filter(({ type }) => type === event),
    ({ accountId, data }) => (kind === 'account' ? accountId : outboxIdOf(data)) ?? '',
  )
  return [...new Set([...entered.keys(), ...announced.keys()])].flatMap(id => {
    const [was, said] = [entered.get(id) ?? 0, announced.get(id) ?? 0]
    return was === said
      ? []
      : [broken(`${kind} ${id} became ${to} ${was} times, and ${event} came ${said} times`)]
  })
}

function outboxIdOf(data: object): string | undefined {
  return (data as { outbox?: { id: string } }).outbox?.id
}

function countBy<Item>(items: readonly Item[], name: (item: Item) => string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(name(item), (counts.get(name(item)) ?? 0) + 1)
  return counts
}

function broken(message: string): Violation {
  return { invariant: 'I12', message }
}
