import { askForSync } from '../../../accounts/ask-for-sync.ts'
import type { ReachedAccount } from '../../../accounts/reach.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { grantedHalves } from '../../../accounts/settings.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { Connections } from '../../../connections/connections.ts'
import type { CalendarsProvider } from '../../../providers/calendars.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { mayDiffer, refuseHalfFailure, requireReachedHalf } from '../../accounts/accounts/reach-half.ts'
import { findHome } from '../calendars/home.ts'
import { recordMarks } from '../marks/record-marks.ts'
import { endIntent } from './intents.ts'

/** The account as its calendars are reached to change them. Refuses if its grant or its state does not allow that. */
export function requireWritable(context: RequestContext, account: AccountView): Promise<ReachedAccount> {
  if (grantedHalves(account).calendar !== 'writes') refuse('scope_missing')
  return requireReachedHalf(context, account, { kind: 'calendar', findHome })
}

/** Keys of a calendar. */
export interface CalendarKeys {
  calendarId: string
  keys: readonly string[]
}

/**
 * Changes calendars in one step at the provider, which is never repeated blindly. If it is unsure whether that had an effect,
 * the sync asks about these keys.
 */
export async function changeCalendars<T>(
  context: RequestContext,
  connections: Connections,
  reached: ReachedAccount,
  {
    marked,
    intentId = null,
    work,
  }: {
    marked: readonly CalendarKeys[]
    /** The intent of the write, which ends if nothing was done. */
    intentId?: string | null
    work: (provider: CalendarsProvider) => Promise<T>
  },
): Promise<T> {
  try {
    return await connections.use(reached, 'calendars', work, { isRepeatable: false })
  } catch (error) {
    if (mayDiffer(error)) await askForLook(context, reached, marked)
    else if (intentId !== null && error instanceof ProviderFailure)
      await context.step(unit => endIntent(unit, reached.id, intentId))
    return refuseHalfFailure(error, 'change')
  }
}

/** Requests a look of the sync, soon, which asks the provider about these items. */
export async function askForLook(
  context: RequestContext,
  { id, tenantId }: ReachedAccount,
  marked: readonly CalendarKeys[],
): Promise<void> {
  await context.step(async unit => {
    await askForSync(unit.sql, { id, tenant_id: tenantId }, { kinds: ['calendar'] })
    for (const { calendarId, keys } of marked) await recordMarks(unit, id, calendarId, keys)
    unit.wake(id)
  })
}
