import type { ReachedAccount } from '../../../accounts/reach.ts'
import type { RequestContext } from '../../../calls/context.ts'
import type { Connections } from '../../../connections/connections.ts'
import type { WriteOptions } from '../../../providers/changing-calendars.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { refuseHalfFailure } from '../../accounts/accounts/reach-half.ts'
import { type CalendarKeys, changeCalendars } from './ask-provider.ts'

const TELLS_SECONDS = 20

/**
 * Whether the people whom a write concerns are to be told by mail. Refuses if they are to be told and nobody would tell them.
 * @param canMail whether the service sends such mails
 */
export async function requireTelling(
  context: RequestContext,
  connections: Connections,
  reached: ReachedAccount,
  {
    calendarKey,
    marked,
    to: { notify, concernsOthers },
    canMail,
  }: { calendarKey: string; marked: readonly CalendarKeys[]; to: WriteOptions; canMail: boolean },
): Promise<boolean> {
  if (!notify || !concernsOthers) return false
  const isTold = await changeCalendars(context, connections, reached, {
    marked,
    work: ({ writer }) => writer.tellsPeople(calendarKey, AbortSignal.timeout(TELLS_SECONDS * 1_000)),
  })
  if (isTold) return false
  if (canMail) return true
  return refuseHalfFailure(
    new ProviderFailure(
      'unsupported',
      'The calendar server of this account sends no invitations. Give notify: false to write without them.',
    ),
    'change',
  )
}
