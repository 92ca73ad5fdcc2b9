import { isDay } from '../../src/kit/wall-clock.ts'
import { Secret } from '../../src/kit/secret.ts'
import { toInstant } from '../../src/kit/zones/zones.ts'
import type { Offering } from '../../src/providers/connected-account.ts'
import type { CalendarsArrangement } from '../../src/providers/conformance/calendars.ts'
import type { ChannelPlan } from '../../src/providers/google-calendar/channels.ts'
import { googleCalendarAccount } from '../../src/providers/google-calendar/google-calendar.ts'
import type { UserQuota } from '../../src/providers/google/governor.ts'
import { boundless, callsTo } from '../gmail/reach-sandbox.ts'
import type { SandboxServer } from '../servers/sandbox.ts'
import { CALENDAR_SCOPE, type Event, type OtherClient, otherClient } from './other-client.ts'

const ZONE = 'Europe/Berlin'

let users = 0

export interface GoogleCalendarArrangement extends CalendarsArrangement {
  email: string
  client: OtherClient
  /**
   * @param options a quota; a clock that tests turn, in milliseconds since 1970; the scopes of a grant that the user has
   * given since; and how channels are kept
   */
  connect(options?: {
    quota?: UserQuota
    clock?: { at: number }
    newerScopes?: readonly string[]
    channelPlan?: ChannelPlan
  }): Promise<Offering<'calendars'>>
}

/** A user of the sandbox with an empty primary calendar, and the way to it. */
export async function arrangeGoogleCalendar(
  sandbox: SandboxServer,
  scopes: readonly string[] = [CALENDAR_SCOPE],
): Promise<GoogleCalendarArrangement> {
  const email = `calendar-${++users}@gmail.test`
  await sandbox.addUser(email)
  const client = otherClient(sandbox, email)
  const calls = callsTo(sandbox)
  const grant = async (granted = scopes) => new Secret((await sandbox.grant(email, granted)).accessToken)
  let token = await grant()
  const memberOf = (key: string, member: string) =>
    client.instance(key, new Date(toInstant(member, ZONE)).toISOString())
  return {
    email,
    client,
    calendarKey: email,
    world: {
      async add(events) {
        const ids: string[] = []
        for (const { subject, start, end, rule } of events) {
          const times = { start: timeOf(start), end: timeOf(end) }
          const event = { summary: subject, ...times, ...(rule && { recurrence: [`RRULE:${rule}`] }) }
          ids.push((await client.insert(event)).id)
        }
        return ids
      },
      rename: async (key, subject) => void (await client.patch(key, { summary: subject })),
      remove: key => client.remove(key),
      except: async (key, member, subject) =>
        void (await client.patch((await memberOf(key, member)).id, { summary: subject })),
      take: async (key, member) => client.remove((await memberOf(key, member)).id),
      async addCalendar() {
        const { summary } = await client.addCalendar({ summary: 'More & more' })
        return summary!
      },
    },
    connect: async ({ quota = boundless.userOf('calendar', email), clock, newerScopes, channelPlan } = {}) =>
      googleCalendarAccount({
        calls,
        tokens: {
          get: async () => token,
          renew: async () => (token = await grant()),
          findNewer: async () => (newerScopes ? grant(newerScopes) : null),
        },
        quota,
        now: () => clock?.at ?? Date.now(),
        ...(channelPlan && { channelPlan }),
      }),
    spoil: cursor => ({ ...cursor, syncToken: 'of-another-calendar' }),
    unknownKey: 'nosuchevent',
    eventsOfSteps: 201,
    [Symbol.asyncDispose]: () => calls[Symbol.asyncDispose](),
  }
}

/** A wall clock in Berlin, or a day, as the API has it. */
export function timeOf(wall: string): NonNullable<Event['start']> {
  const date = wall.replace(/^(\d{4})(\d\d)(\d\d).*$/, '$1-$2-$3')
  if (isDay(wall)) return { date }
  const time = wall.slice(9).replace(/^(\d\d)(\d\d)(\d\d)$/, '$1:$2:$3')
  return { dateTime: `${date}T${time}`, timeZone: ZONE }
}
