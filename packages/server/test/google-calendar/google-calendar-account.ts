import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { accountKeys } from '../../src/accounts/secrets.ts'
import type { ChangeUnit } from '../../src/calls/context.ts'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import { reconnectWithGrant } from '../../src/features/accounts/accounts/connect-with-grant.ts'
import { Secret } from '../../src/kit/secret.ts'
import { halvesOf } from '../../src/providers/google/scopes.ts'
import { waitForCalendars } from '../calendars/caldav-account.ts'
import { wakeSync } from '../gmail/connect-gmail.ts'
import { SCOPES } from '../gmail/gmail-client.ts'
import { type GmailApp, openGmailApp, OPERATORS_APP } from '../gmail/open-gmail-app.ts'
import type { TestAppOptions } from '../open-app.ts'
import { CALENDAR_SCOPE, configureCalendar, type OtherClient, otherClient } from './other-client.ts'

/** The service with all roles, and a sandbox whose Calendar API has no quotas. */
export async function openGoogleCalendarApp(options?: TestAppOptions): Promise<GmailApp> {
  const opened = await openGmailApp(options)
  await configureCalendar(opened.sandbox, { quota: 'off' })
  return opened
}

let users = 0

/** A user of the sandbox, beside another client of their calendars. */
export async function addUser({ sandbox }: GmailApp): Promise<{ email: string; client: OtherClient }> {
  const email = `calendars-${++users}@gmail.test`
  await sandbox.addUser(email)
  return { email, client: otherClient(sandbox, email) }
}

const scopesWith = (scopes: readonly string[]) => ['openid', 'email', 'profile', ...SCOPES, ...scopes]

/** Connects a user by a refresh token. */
export async function connectUser(
  { app, sandbox }: GmailApp,
  email: string,
  scopes: readonly string[] = [CALENDAR_SCOPE],
): Promise<Account> {
  const { refreshToken } = await sandbox.grant(email, scopesWith(scopes))
  const { status, body } = await app.post<Account>('/v1/accounts', { provider: 'google', refreshToken })
  if (status !== 200) throw new Error(`could not connect: ${JSON.stringify(body)}`)
  return body
}

/** Signs the user of an account in again, who allows these scopes besides mail. */
export async function signInAgain(
  { app, sandbox }: GmailApp,
  { id, email }: Pick<Account, 'id' | 'email'>,
  extra: readonly string[],
): Promise<void> {
  const scopes = scopesWith(extra)
  const { accessToken, refreshToken } = await sandbox.grant(email, scopes)
  const { rows } = await sql<{ subject: string }>`select subject from account where id = ${id}`.execute(
    app.db,
  )
  const grant = {
    accessToken: new Secret(accessToken),
    refreshToken: new Secret(refreshToken),
    expiresInSeconds: 3_599,
    scopes,
    halves: halvesOf(scopes),
    identity: { subject: rows[0]!.subject, email, displayName: email },
  }
  const signedIn = { client: OPERATORS_APP, grant, asked: { calendar: true, contacts: true } }
  await inTransaction(app.db, app.tenantId, unit =>
    reconnectWithGrant({ ...unit, wake: () => {} } as ChangeUnit, accountKeys(app.keyRing), id, signedIn),
  )
  await wakeSync(app.db, id)
}

/** An account with the calendars of a Google user, beside another client of them. */
export interface GoogleCalendarAccount {
  account: Account
  email: string
  client: OtherClient
  look(): Promise<unknown>
}

/**
 * Connects a user, and waits for the first sync of calendars.
 * @param arrange fills the calendars before
 */
export async function connectGoogleCalendar(
  opened: GmailApp,
  arrange: (client: OtherClient) => Promise<unknown> = async () => {},
): Promise<GoogleCalendarAccount> {
  const { email, client } = await addUser(opened)
  await arrange(client)
  const { id } = await connectUser(opened, email)
  const account = await waitForCalendars(opened.app, id)
  const look = () => opened.app.post(`/v1/accounts/${id}/sync`, { kinds: ['calendar'] })
  return { account, email, client, look }
}
