/** @module-tag postgres-16 */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { ALL, CLIENT, MAIL, useRefreshTokens } from '../../../../test/connect/use-refresh-tokens.ts'
import { callsTo } from '../../../../test/gmail/reach-sandbox.ts'
import { makeTaskDue } from '../../../../test/make-task-due.ts'
import { waitUntil } from '../../../../test/wait-until.ts'
import { Secret } from '../../../kit/secret.ts'
import { googleSignIn } from '../../../providers/google/sign-in.ts'

const at = useRefreshTokens()

async function isGrantAlive(refreshToken: string): Promise<boolean> {
  await using calls = callsTo(at.sandbox)
  const client = {
    clientId: CLIENT.clientId,
    credential: { type: 'secret' as const, secret: CLIENT.clientSecret },
  }
  const { refresh } = googleSignIn({ calls, standIns: null })
  return await refresh(client, new Secret(refreshToken), [], AbortSignal.timeout(20_000)).then(
    () => true,
    () => false,
  )
}

test('renewing an account does not end the grant of a sibling of the same user (C31)', async () => {
  const { email, refreshToken } = await at.newGrant()
  const other = await at.app.createTenant('same user')
  const siblings = await at.newGrant(ALL, email)
  const { body: sibling } = await at.connect(siblings.refreshToken, {}, other)
  const { body: account } = await at.connect(refreshToken)
  await at.app.db
    .updateTable('account')
    .set({ status: 'reauth_required' })
    .where('id', '=', account.id)
    .execute()
  expect(await at.connect((await at.newGrant(ALL, email)).refreshToken)).toMatchObject({
    status: 200,
    body: { id: account.id, status: 'active' },
  })
  expect(await countRevocations()).toBe(0)
  expect(await isGrantAlive(siblings.refreshToken)).toBe(true)
  const { rows } = await sql<{ id: string }>`
    select account_id as id from oauth_grant where account_id in (${account.id}, ${sibling.id})
  `.execute(at.app.db)
  expect(rows.map(({ id }) => id).toSorted()).toEqual([account.id, sibling.id].toSorted())
})

describe('deleting an account', () => {
  test('revokes its grant at the provider, and deletes its tokens at once', async () => {
    const { refreshToken } = await at.newGrant()
    const { body: account } = await at.connect(refreshToken)
    expect(await isGrantAlive(refreshToken)).toBe(true)
    await at.app.delete(`/v1/accounts/${account.id}?purge=true`)
    const kept = await at.app.db
      .selectFrom('oauth_grant')
      .select('id')
      .where('account_id', '=', account.id)
      .execute()
    expect(kept).toEqual([])
    await waitUntil('the end of the grant', async () => !(await isGrantAlive(refreshToken)))
    await waitUntil('no copy of the token', async () => (await countRevocations()) === 0)
  })

  test('leaves a grant alone that an account of another tenant uses, until that is deleted too', async () => {
    const { email, refreshToken } = await at.newGrant()
    const { body: account } = await at.connect(refreshToken)
    const other = await at.app.createTenant('sibling')
    const siblings = await at.newGrant(ALL, email)
    const { body: sibling } = await at.connect(siblings.refreshToken, {}, other)
    await at.app.delete(`/v1/accounts/${account.id}`)
    await waitUntil('the job', async () => (await countRevocations()) === 0)
    expect(await isGrantAlive(siblings.refreshToken)).toBe(true)
    await other.delete(`/v1/accounts/${sibling.id}`)
    await waitUntil('the end of the grant', async () => !(await isGrantAlive(siblings.refreshToken)))
  })

  test.each([
    ['by name', ALL],
    ['by address', [MAIL]],
  ])('leaves the new grant alone of a user, known %s, who connects again meanwhile', async (_, scopes) => {
    const { email, refreshToken } = await at.newGrant(scopes)
    const { body: account } = await at.connect(refreshToken)
    await deleteWithoutRevoking(account.id)
    const again = await at.newGrant(scopes, email)
    expect(await at.connect(again.refreshToken)).toMatchObject({ status: 200 })
    expect(await countRevocations()).toBe(0)
    await runRevocations()
    expect(await isGrantAlive(again.refreshToken)).toBe(true)
  })

  test('leaves a grant alone of a sibling whose user was never named', async () => {
    const { email, refreshToken } = await at.newGrant()
    const { body: account } = await at.connect(refreshToken)
    const siblings = await at.newGrant([MAIL], email)
    const connected = await at.connect(siblings.refreshToken, {}, await at.app.createTenant('nameless'))
    expect(connected).toMatchObject({ status: 200 })
    await at.app.delete(`/v1/accounts/${account.id}`)
    await waitUntil('the job', async () => (await countRevocations()) === 0)
    expect(await isGrantAlive(siblings.refreshToken)).toBe(true)
  })

  test('revokes the grant of one app while the user has an account by another', async () => {
    const { email, refreshToken } = await at.newGrant()
    const { body: account } = await at.connect(refreshToken)
    await at.sandbox.addClient({ clientId: 'second', clientSecret: 'second-secret' })
    const other = await at.app.createTenant('with an app')
    const made = await other.post<{ id: string }>('/v1/oauth-apps', {
      provider: 'google',
      name: 'Second',
      clientId: 'second',
      clientSecret: 'second-secret',
    })
    const siblings = await at.sandbox.grant(email, ALL, 'second')
    const connected = await at.connect(siblings.refreshToken, { oauthAppId: made.body.id }, other)
    expect(connected).toMatchObject({ status: 200 })
    await at.app.delete(`/v1/accounts/${account.id}`)
    await waitUntil('the end of the grant', async () => !(await isGrantAlive(refreshToken)))
  })

  test('leaves a grant alone that a sibling has by another app of the same client id', async () => {
    const { email, refreshToken } = await at.newGrant()
    const { body: account } = await at.connect(refreshToken)
    const other = await at.app.createTenant('same client')
    const { clientId, clientSecret } = CLIENT
    const given = { provider: 'google', name: 'Same', clientId, clientSecret: clientSecret.reveal() }
    const { body: made } = await other.post<{ id: string }>('/v1/oauth-apps', given)
    const siblings = await at.newGrant(ALL, email)
    const connected = await at.connect(siblings.refreshToken, { oauthAppId: made.id }, other)
    expect(connected).toMatchObject({ status: 200, body: { oauthAppId: made.id } })
    await at.app.delete(`/v1/accounts/${account.id}`)
    await waitUntil('the job', async () => (await countRevocations()) === 0)
    expect(await isGrantAlive(siblings.refreshToken)).toBe(true)
  })

  test('gives a revocation up after a day, and forgets its token', async () => {
    const { refreshToken } = await at.newGrant()
    const { body: account } = await at.connect(refreshToken)
    await deleteWithoutRevoking(account.id)
    const { rows } = await sql<{ hours: number }>`
      select round(extract(epoch from expires_at - clock_timestamp()) / 3600)::int as hours
      from grant_revocation`.execute(at.app.db)
    expect(rows).toEqual([{ hours: 24 }])
    await sql`update grant_revocation set expires_at = clock_timestamp()`.execute(at.app.db)
    await runRevocations()
    expect(await isGrantAlive(refreshToken)).toBe(true)
    await makeTaskDue(at.app.database.pool, 'forget_tokens')
    await waitUntil('no copy of the token', async () => (await countRevocations()) === 0)
  })
})

/** Deletes an account while the provider revokes nothing; its revocation was tried once and waits. */
async function deleteWithoutRevoking(accountId: string): Promise<void> {
  const revoking = { host: 'oauth2.googleapis.com', path: '/revoke' }
  const tries = async () => (await at.sandbox.calls(revoking)).items.length
  const before = await tries()
  await at.sandbox.addFault({ does: 'error', status: 503, ...revoking })
  await at.app.delete(`/v1/accounts/${accountId}`)
  await waitUntil('a try', async () => (await tries()) > before)
}

/** Lets the provider revoke again, and runs the jobs that wait. */
async function runRevocations(): Promise<void> {
  await at.sandbox.clearFaults()
  await waitUntil('no job', async () => {
    await sql`update job set due_at = clock_timestamp() where kind = 'revoke_grant'`.execute(at.app.db)
    return (await countJobs()) === 0
  })
}

async function countRevocations(): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from grant_revocation`.execute(
    at.app.db,
  )
  return rows[0]?.count ?? 0
}

async function countJobs(): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from job where kind = 'revoke_grant'`.execute(at.app.db)
  return rows[0]?.count ?? 0
}
