import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { ChangeEvent } from '@waxwing/contract/events.ts'
import { Command } from 'commander'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { makeExternalDatabase } from '../../test/external-database.ts'
import { openTestApp } from '../../test/open-app.ts'
import { sampleAccount } from '../../test/sample-rows.ts'
import { runWaxwing } from '../../test/service-process.ts'
import type { Config } from '../config.ts'
import { createTenant } from '../features/tenancy/tenants/store.ts'
import { newId } from '../kit/ids.ts'
import { register } from './account.ts'
import { CommandError } from './command-error.ts'

afterEach(() => vi.restoreAllMocks())

/** The commands beside a running service. `run` returns what was printed. */
async function openCommandLine() {
  const app = await openTestApp()
  const { db, keyRing } = app
  async function run(...words: string[]): Promise<string> {
    const program = new Command().exitOverride().configureOutput({ writeErr: () => {} })
    const connect = () =>
      Promise.resolve({ db, keyRing, config: {} as Config, [Symbol.asyncDispose]: () => Promise.resolve() })
    register(program, connect)
    for (const command of program.commands.flatMap(one => [one, ...one.commands])) command.exitOverride()
    const printed = vi.spyOn(console, 'log').mockImplementation(() => {})
    await program.parseAsync(['account', ...words], { from: 'user' })
    const text = printed.mock.calls.map(([line]) => String(line)).join('\n')
    printed.mockRestore()
    return text
  }
  const read = async (id: string) => (await app.get<Account>(`/v1/accounts/${id}`)).body
  const events = async () =>
    (await app.get<{ items: ChangeEvent[] }>('/v1/changes')).body.items.map(({ type }) => type)
  return { app, run, read, events, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}

describe('waxwing account', () => {
  test('stops an account so that callers cannot resume it, and resumes it', async () => {
    await using line = await openCommandLine()
    const { app, run, read, events } = line
    const { id } = await sampleAccount(app.db, app.tenantId, { email: 'ada@a.test' })

    expect(await run('pause', id)).toBe('Stopped ada@a.test.')
    expect(await read(id)).toMatchObject({ status: 'disabled', statusReason: 'operator' })
    expect(await app.patch(`/v1/accounts/${id}`, { status: 'active' })).toMatchObject({
      status: 409,
      body: { code: 'account_disabled' },
    })
    expect(await run('pause', id)).toBe('Stopped ada@a.test.')
    expect(await run('resume', id)).toBe('Resumed ada@a.test.')
    expect(await read(id)).toMatchObject({ status: 'active', statusReason: null })
    expect(await events()).toEqual(['account.updated', 'account.updated'])
  })

  test('does not touch an account that is stopped for another reason', async () => {
    await using line = await openCommandLine()
    const { app, run, read } = line
    const { id } = await sampleAccount(app.db, app.tenantId, {
      email: 'ada@a.test',
      status: 'reauth_required',
      status_reason: 'login_failed',
    })
    for (const verb of ['pause', 'resume'])
      await expect(run(verb, id)).rejects.toThrow('ada@a.test is reauth_required (login_failed).')
    const paused = await sampleAccount(app.db, app.tenantId, { status: 'paused' })
    await expect(run('resume', paused.id)).rejects.toThrow('There is nothing to resume.')
    expect((await read(id)).status).toBe('reauth_required')
  })

  test('deletes an account as the API does', async () => {
    await using line = await openCommandLine()
    const { app, run, events } = line
    const { id } = await sampleAccount(app.db, app.tenantId)
    expect(await run('delete', id.toUpperCase())).toContain(`Deleted ${id}`)
    expect((await app.get(`/v1/accounts/${id}`)).status).toBe(404)
    expect(await events()).toEqual(['account.deleted'])
    await expect(run('pause', id)).rejects.toThrow('was deleted')
  })

  test(
    'lists accounts of every tenant with their state, a page at a time',
    { tags: ['postgres-16'] },
    async () => {
      await using line = await openCommandLine()
      const { app, run } = line
      const acme = await createTenant(app.db, 'acme')
      const first = await sampleAccount(app.db, app.tenantId, {
        email: 'ada@a.test',
        status: 'paused',
        status_reason: 'paused_by_user',
      })
      const instance = newId()
      const second = await sampleAccount(app.db, acme!.id, {
        email: 'bob@b.test',
        runtime_state: 'backoff',
        runtime_detail: 'the server says \u001B[2J',
        runtime_instance: instance,
        runtime_updated_at: new Date(),
        behind_since: new Date(),
      })

      expect(await run('list')).toBe(
        [
          `${first.id}  default  ada@a.test  paused (paused_by_user)  never followed`,
          `${second.id}  acme  bob@b.test  active  pending: no process follows the account at the moment  process ${instance}`,
        ].join('\n'),
      )
      expect(await run('list', '--limit', '1')).toMatch(/^\S+ {2}default .*\nThere are more: --after \S+$/)
      expect(await run('list', '--limit', '1', '--after', first.id)).toMatch(/^\S+ {2}acme .*$/)
      expect(await run('list', '--tenant', 'default')).not.toContain('acme')
      expect(await run('list', '--behind')).toMatch(/^\S+ {2}acme .*$/)
      expect(JSON.parse(await run('list', '--json', '--limit', '1'))).toMatchObject({
        accounts: [{ id: first.id, tenant: 'default', statusReason: 'paused_by_user', runtime: null }],
        hasMore: true,
      })
    },
  )

  test('prints no control characters that a server sent', async () => {
    await using line = await openCommandLine()
    const { app, run } = line
    const instance = newId()
    const until = new Date(Date.now() + 50_000)
    await app.db.insertInto('instance').values({ id: instance, heartbeat_until: until }).execute()
    await sampleAccount(app.db, app.tenantId, {
      owner_instance: instance,
      runtime_state: 'backoff',
      runtime_detail: 'it says \u001B[2J\u202E and more',
      runtime_instance: instance,
      runtime_updated_at: new Date(),
    })
    expect(await run('list')).toContain('backoff: it says  [2J  and more')
  })

  test('refuses an id that is not an account, with an explanation', async () => {
    await using line = await openCommandLine()
    await expect(line.run('pause', 'ada@a.test')).rejects.toThrow(CommandError)
    await expect(line.run('delete', newId())).rejects.toThrow('There is no account')
    await expect(line.run('list', '--limit', '1001')).rejects.toThrow('1 to 1000')
  })

  test('works without a service', async () => {
    await using external = await makeExternalDatabase({ migrated: true })
    const { db } = external.database
    const tenant = await createTenant(db, 'acme')
    const { id } = await sampleAccount(db, tenant!.id, { email: 'ada@a.test' })
    const env = { DATABASE_URL: external.url, WAXWING_SECRET_KEY: Buffer.alloc(32, 5).toString('base64') }

    const stopped = await runWaxwing(['account', 'pause', id], { env })
    expect(stopped).toMatchObject({ code: 0, stdout: 'Stopped ada@a.test.\n' })
    const listed = await runWaxwing(['account', 'list'], { env })
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining('disabled (operator)') })
  })
})
