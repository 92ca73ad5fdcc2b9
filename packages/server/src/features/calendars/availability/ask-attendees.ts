import { reachedHalf, type ReachedAccount } from '../../../accounts/reach.ts'
import type { AccountView } from '../../../accounts/row.ts'
import type { Connections } from '../../../connections/connections.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import type { Logger } from '../../../kit/log.ts'
import { within } from '../../../kit/within.ts'
import { abilitiesOf } from '../../../providers/abilities.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import type { BusyTime, TimeRange } from './busy-times.ts'
import type { Party } from './watch-party.ts'

/** An adapter stops asking after this time, and answers what it has learnt. */
const ASKING_SECONDS = 9
const WHOLE_SECONDS = 10
/** Accounts whose providers are asked for the same attendees. */
const ASKED_ACCOUNTS_MAX = 4

export interface AskingAttendees {
  connections: Connections
  log: Logger
  gone: AbortSignal
}

/** The account as its provider is asked about others. Null if its provider cannot be asked now. */
export function asker(account: AccountView): ReachedAccount | null {
  const half = account.other_halves?.find(({ kind }) => kind === 'calendar')
  const isReached = half !== undefined && half.problem === null
  return isReached && abilitiesOf(account.provider).followed.includes('calendar')
    ? reachedHalf(account, 'calendar')
    : null
}

/**
 * Asks the providers of accounts when others are busy, all at the same time and for 10 seconds at most. The first accounts
 * are asked, and an attendee is resolved if one of their providers answers for the address.
 * @returns the attendees in their order, each once
 */
export async function askAttendees(
  asking: AskingAttendees,
  askers: readonly ReachedAccount[],
  { addresses, range }: { addresses: readonly string[]; range: TimeRange },
): Promise<Array<Party & { address: string }>> {
  const unique = [...Map.groupBy(addresses, comparedAddress).values()].map(([first]) => first!)
  if (unique.length === 0) return []
  const answers = await Promise.all(
    askers.slice(0, ASKED_ACCOUNTS_MAX).map(account => ask(asking, account, { addresses: unique, range })),
  )
  const known = new Map<string, BusyTime[]>()
  for (const answer of answers)
    for (const [address, times] of answer) {
      const key = comparedAddress(address)
      known.set(key, [...(known.get(key) ?? []), ...times])
    }
  return unique.map(address => {
    const busy = known.get(comparedAddress(address))?.toSorted((one, other) => one.start - other.start)
    return { accountId: null, address, busy: busy ?? null }
  })
}

/** The busy times by address; empty if the provider fails or has no such question. */
async function ask(
  { connections, log, gone }: AskingAttendees,
  account: ReachedAccount,
  { addresses, range }: { addresses: readonly string[]; range: TimeRange },
): Promise<ReadonlyMap<string, BusyTime[]>> {
  const dates = { start: new Date(range.start), end: new Date(range.end) }
  const asked = AbortSignal.any([gone, AbortSignal.timeout(ASKING_SECONDS * 1_000)])
  const ended = AbortSignal.any([gone, AbortSignal.timeout(WHOLE_SECONDS * 1_000)])
  try {
    const found = await within(
      ended,
      connections.use(
        account,
        'calendars',
        async provider => (await provider.findBusy?.(addresses, dates, asked)) ?? new Map(),
        { isRepeatable: true, beginsUntil: asked },
      ),
    )
    return new Map([...found].map(([address, times]) => [address, times.map(toBusyTime)]))
  } catch (error) {
    gone.throwIfAborted()
    const isKnown = error instanceof ProviderFailure || asked.aborted
    if (!isKnown) throw error
    log.info({ accountId: account.id, error }, 'Attendees of an availability could not be resolved')
    return new Map()
  }
}

const toBusyTime = ({ start, end }: { start: Date; end: Date }): BusyTime => ({
  start: start.getTime(),
  end: end.getTime(),
  eventId: null,
})
