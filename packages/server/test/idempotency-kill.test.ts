import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openEmbedded } from '../src/database/embedded/embedded.ts'
import { clientSettings } from '../src/database/pool.ts'
import { silentLog } from '../src/kit/log.ts'
import { startDovecot } from './servers/dovecot.ts'
import type { MailServer, TestUser } from './servers/mail-server.ts'
import { makePreparedFolder } from './prepared-folder.ts'
import { type ServiceProcess, startServiceProcess } from './service-process.ts'
import { waitUntil } from './wait-until.ts'

const LOCK = 4711
/**
 * Triggers that let an insert of an account wait for the lock: in its statement, or in the commit of its transaction.
 */
const TRIGGERS = {
  'the effect': 'create trigger pause before insert on account for each row execute function pause()',
  'the commit':
    'create constraint trigger pause after insert on account deferrable initially deferred for each row ' +
    'execute function pause()',
}

let dovecot: MailServer
beforeAll(async () => {
  dovecot = await startDovecot()
})
afterAll(() => dovecot[Symbol.asyncDispose]())

/** Opens a service with the role `api` only, and a session of its database. */
async function openPausable() {
  await using opened = new AsyncDisposableStack()
  const folder = opened.use(await makePreparedFolder())
  const env = {
    WAXWING_ROLES: 'api',
    WAXWING_EGRESS_ALLOW: '127.0.0.1/32',
    WAXWING_ALLOW_PLAINTEXT: 'true',
  }
  let service: ServiceProcess = await startServiceProcess(folder, { env })
  opened.defer(() => service[Symbol.asyncDispose]())
  const { key } = service
  const embedded = opened.use(await openEmbedded({ dataDir: folder.path, as: 'command', log: silentLog }))
  const session = new Client(clientSettings(embedded.address, 'waxwing test'))
  await session.connect()
  opened.defer(() => session.end())

  async function connectAccount(user: TestUser) {
    const account = {
      email: user.email,
      password: user.password,
      imap: { host: dovecot.host, port: dovecot.port, security: 'none', user: user.user },
      smtp: null,
    }
    const answer = await fetch(`${service.address}/v1/imap-accounts`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': `connect-${user.email.replaceAll(/\W/g, '-')}`,
      },
      body: JSON.stringify(account),
    })
    // All answers of this operation are objects.
    const body = (await answer.json()) as Record<string, unknown>
    return { status: answer.status, body, isReplayed: answer.headers.has('idempotent-replayed') }
  }
  const count = async (sql: string) => {
    const { rows } = await session.query<{ count: number }>(`select count(*)::integer as count from ${sql}`)
    return rows[0]?.count ?? 0
  }

  /** Sends the request, kills the service while its transaction waits there, and then releases the transaction. */
  async function killAt(place: keyof typeof TRIGGERS, user: TestUser) {
    await session.query(`
      create function pause() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(${LOCK}); return new; end $$`)
    await session.query(TRIGGERS[place])
    await session.query(`select pg_advisory_lock(${LOCK})`)
    const lost = expect(connectAccount(user)).rejects.toThrow()
    const isWaiting = async () => (await count(`pg_locks where objid = ${LOCK} and not granted`)) > 0
    await waitUntil('the transaction to wait', isWaiting)
    service.kill('SIGKILL')
    await service.ended
    await lost
    await session.query(`select pg_advisory_unlock(${LOCK})`)
    const isGone = async () => (await count(`pg_locks where objid = ${LOCK}`)) === 0
    await waitUntil('the transaction to end', isGone)
    await session.query('drop function pause cascade')
  }
  const owned = opened.move()
  return {
    connectAccount,
    killAt,
    countAccounts: () => count('account'),
    /** Rows of the audit log about accounts that were created. */
    countCreated: () => count(`audit_open where action = 'account.create' and status = 200`),
    /** Sets the time until which the killed request counts as in progress. */
    async lockUntil(time: string) {
      await session.query(`update idempotency_key set locked_until = ${time} where status is null`)
    },
    async restart() {
      service = await startServiceProcess(folder, { env })
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

describe('kill -9', () => {
  test('before or after the commit of an account, whose answer is lost, loses no row and creates no second account when the request is repeated', async () => {
    await using pausable = await openPausable()
    const [ada, ben] = [await dovecot.addUser(), await dovecot.addUser()]
    const counts = async () => [await pausable.countAccounts(), await pausable.countCreated()]

    await pausable.killAt('the commit', ada)
    expect(await counts()).toEqual([1, 1])
    await pausable.restart()
    expect(await pausable.connectAccount(ada)).toMatchObject({
      status: 200,
      isReplayed: true,
      body: { provider: 'imap', status: 'active' },
    })
    expect(await counts()).toEqual([1, 1])

    await pausable.killAt('the effect', ben)
    expect(await counts()).toEqual([1, 1])
    // However long the start takes.
    await pausable.lockUntil("clock_timestamp() + interval '1 hour'")
    await pausable.restart()
    expect(await pausable.connectAccount(ben)).toMatchObject({
      status: 409,
      body: { code: 'idempotency_key_in_progress' },
    })
    await pausable.lockUntil("'-infinity'")
    const repeated = await pausable.connectAccount(ben)
    expect(repeated).toMatchObject({ status: 200, isReplayed: false })
    expect(await pausable.connectAccount(ben)).toEqual({ ...repeated, isReplayed: true })
    expect(await counts()).toEqual([2, 2])
  }, 300_000)
})
