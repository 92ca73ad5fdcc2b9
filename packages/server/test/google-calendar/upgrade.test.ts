import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { accountKeys } from '../../src/accounts/secrets.ts'
import type { ChangeUnit } from '../../src/calls/context.ts'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import { connectWithGrant } from '../../src/features/accounts/accounts/connect-with-grant.ts'
import { newId } from '../../src/kit/ids.ts'
import { Secret } from '../../src/kit/secret.ts'
import { halvesOf } from '../../src/providers/google/scopes.ts'
import { waitForCalendars } from '../calendars/caldav-account.ts'
import { wakeSync } from '../gmail/connect-gmail.ts'
import { SCOPES } from '../gmail/gmail-client.ts'
import { type GmailApp, letter, openGmailApp, OPERATORS_APP } from '../gmail/open-gmail-app.ts'
import { makeTaskDue } from '../make-task-due.ts'
import { readMessages } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { connectUser } from './google-calendar-account.ts'
import { CALENDAR_HOST, CALENDAR_SCOPE, configureCalendar, otherClient } from './other-client.ts'

/** Accounts of the earlier release. `npm run soak` has 5,000. */
const ACCOUNTS = Number(process.env['WAXWING_TEST_UPGRADED'] ?? 40)
/** The calls of Google's project in a minute, for the service and for the sandbox, which refuses what is over them. */
const PROJECT_CALLS = 10_000
/** Halves of which the first sync may be under way at a time: `BEGUN_MAX` of `spread-halves.ts`. */
const BEGUN_MAX = 100
/** Letters that come while the calendars are read for the first time. */
const LETTERS = 5
const MAIL_SECONDS_MAX = 30
const SECONDS = 1_000

const scopes = ['openid', 'email', 'profile', ...SCOPES, CALENDAR_SCOPE]

/** Connects a user as an earlier release did, which followed no calendars. */
async function connectEarlier({ app, sandbox }: GmailApp, email: string): Promise<string> {
  await sandbox.addUser(email)
  const { accessToken, refreshToken } = await sandbox.grant(email, scopes)
  const grant = {
    accessToken: new Secret(accessToken),
    refreshToken: new Secret(refreshToken),
    expiresInSeconds: 3_599,
    scopes,
    halves: halvesOf(scopes),
    identity: { subject: newId(), email, displayName: null },
  }
  const given = { client: OPERATORS_APP, grant, asked: { calendar: true, contacts: true } }
  const { id } = await inTransaction(app.db, app.tenantId, async unit => {
    const account = await connectWithGrant(
      { ...unit, wake: () => {} } as ChangeUnit,
      accountKeys(app.keyRing),
      given,
    )
    await sql`delete from account_half where account_id = ${account.id} and kind = 'calendar'`.execute(
      unit.sql,
    )
    return account
  })
  await wakeSync(app.db, id)
  return id
}

async function countCalendars({ app }: GmailApp, isInitialized: boolean): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from account_half
    where kind = 'calendar' and (initialized_at is not null) = ${isInitialized}
  `.execute(app.db)
  return rows[0]?.count ?? 0
}

test(
  `${ACCOUNTS} accounts that granted calendars to an earlier release get them within the quotas, behind new accounts`,
  { timeout: 120 * SECONDS + ACCOUNTS * SECONDS },
  async () => {
    await using opened = await openGmailApp({
      config: { googleCalendarCallsPerMinute: 600, googleCalendarProjectCallsPerMinute: PROJECT_CALLS },
      pace: { pollSeconds: 10 },
    })
    const { app, sandbox } = opened
    await configureCalendar(sandbox, {
      quota: 'on',
      callsPerMinute: 600,
      projectCallsPerMinute: PROJECT_CALLS,
    })
    // As if no release had looked for calendars yet: the walk is over before the accounts come.
    await sql`
      insert into half_spread (kind, provider, after_id) values ('calendar', 'gmail', null)
      on conflict (kind, provider) do update set after_id = null
    `.execute(app.db)
    const emails = Array.from({ length: ACCOUNTS }, (_, nth) => `earlier-${nth}@gmail.test`)
    const ids: string[] = []
    for (const email of emails) ids.push(await connectEarlier(opened, email))
    await waitUntil(
      'the mail of all',
      async () => {
        const { rows } = await sql<{ count: number }>`
        select count(*)::int as count from account_half where kind = 'mail' and initialized_at is null
      `.execute(app.db)
        return rows[0]?.count === 0
      },
      120 + ACCOUNTS,
    )
    expect(await countCalendars(opened, true)).toBe(0)

    await sql`delete from half_spread where kind = 'calendar'`.execute(app.db)
    let begunMax = 0
    const untilAll = waitUntil(
      'the calendars of all',
      async () => {
        await makeTaskDue(app.database.pool, 'spread_halves')
        begunMax = Math.max(begunMax, await countCalendars(opened, false))
        return (await countCalendars(opened, true)) > ACCOUNTS
      },
      120 + ACCOUNTS,
    )
    await waitUntil('the first calendars', async () => (await countCalendars(opened, false)) > 0)
    // A new account, and mail of earlier ones, meanwhile.
    await sandbox.addUser('new@gmail.test')
    const account = await connectUser(opened, 'new@gmail.test')
    await otherClient(sandbox, 'new@gmail.test').insert({
      summary: 'New',
      start: { date: '2026-12-24' },
      end: { date: '2026-12-25' },
    })
    for (const [nth, email] of emails.slice(0, LETTERS).entries())
      await sandbox.deliver(email, letter(`meanwhile ${nth}`))
    const delivered = performance.now()
    await waitForCalendars(app, account.id)
    const behind = ACCOUNTS + 1 - (await countCalendars(opened, true))
    if (ACCOUNTS > 5 * BEGUN_MAX) expect(behind).toBeGreaterThan(ACCOUNTS / 2)
    for (const [nth, id] of ids.slice(0, LETTERS).entries())
      await waitUntil(`letter ${nth}`, async () =>
        (await readMessages(app, id)).some(({ subject }) => subject === `meanwhile ${nth}`),
      )
    expect((performance.now() - delivered) / SECONDS).toBeLessThan(MAIL_SECONDS_MAX)

    await untilAll
    expect(begunMax).toBeLessThanOrEqual(BEGUN_MAX + 1)
    const { items } = await sandbox.calls({ host: CALENDAR_HOST })
    expect(items.length).toBeGreaterThan(ACCOUNTS)
    expect(items.filter(({ status }) => status === 403 || status === 429)).toEqual([])
    const { rows } = await sql<{ initialized: number }>`
      select count(distinct account_id)::int as initialized from event where type = 'calendar.initialized'
    `.execute(app.db)
    expect(rows[0]?.initialized).toBe(ACCOUNTS + 1)
  },
)
