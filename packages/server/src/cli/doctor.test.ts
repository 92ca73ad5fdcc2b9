import { once } from 'node:events'
import { chmod, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer as createWebServer } from 'node:http'
import { type AddressInfo, type Server, createServer } from 'node:net'
import path from 'node:path'
import { CommanderError } from 'commander'
import { sql } from 'kysely'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { makeExternalDatabase } from '../../test/external-database.ts'
import { findFreePort } from '../../test/metrics.ts'
import { sampleAccount } from '../../test/sample-rows.ts'
import { startSmtpSink } from '../../test/servers/smtp-sink.ts'
import { makePreparedFolder } from '../../test/prepared-folder.ts'
import { makeDataFolder, runWaxwing, startServiceProcess } from '../../test/service-process.ts'
import { findInstallationId } from '../database/installation-id.ts'
import { requireSealedValue } from '../database/sealed-value.ts'
import { createTenant } from '../features/tenancy/tenants/store.ts'
import { newId } from '../kit/ids.ts'
import { silentLog } from '../kit/log.ts'
import { openInstallation } from '../start/database.ts'
import { configOf, type Environment, examine, examineAlone, KEY } from '../../test/examine.ts'
import { SOAK } from '../../test/soak.ts'

afterEach(() => {
  vi.restoreAllMocks()
  process.exitCode = undefined
})

/** Opens a server on loopback that counts its connections. */
async function openListener(server: Server = createServer(socket => socket.destroy())) {
  let connections = 0
  server.on('connection', () => void (connections += 1))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // Just bound to a TCP port, so it has one.
  const { port } = server.address() as AddressInfo
  return {
    port,
    count: () => connections,
    [Symbol.asyncDispose]: async () => void server.close(),
  }
}

describe('waxwing doctor', () => {
  test('finds a machine ready for the first start, and creates nothing', async () => {
    await using folder = await makeDataFolder()
    const { stdout, code } = await runWaxwing(['doctor'], { env: { WAXWING_DATA_DIR: folder.path } })

    expect(code).toBe(0)
    expect(stdout).toMatch(/^ok +settings +All settings are valid\.$/m)
    expect(stdout).toMatch(/^ok +database +The first start creates the embedded database\.$/m)
    expect(stdout).toMatch(/^ok +sealing key +The first start creates it\.$/m)
    expect(await readdir(folder.path)).toEqual([])
  })

  test('works whether the service runs or not, and distinguishes it from that of another installation', async () => {
    await using folder = await makePreparedFolder()
    await using otherFolder = await makeDataFolder()
    await using external = await makeExternalDatabase({ migrated: true })
    const metricsPort = String(await findFreePort())
    await using service = await startServiceProcess(folder, { env: { WAXWING_METRICS_PORT: metricsPort } })
    const ports = { WAXWING_METRICS_PORT: metricsPort, WAXWING_PORT: new URL(service.address).port }
    const env = { WAXWING_DATA_DIR: folder.path }

    const beside = await examineAlone({ ...env, ...ports })
    expect(beside.of('service')).toMatchObject([
      { state: 'ok', message: 'Runs on this machine, and is ready.' },
    ])
    const others = [
      `127.0.0.1:${metricsPort} is used by the Waxwing service of another installation.`,
      `127.0.0.1:${ports.WAXWING_PORT} is used by the Waxwing service of another installation.`,
    ]
    const other = { ...ports, WAXWING_DATA_DIR: otherFolder.path }
    // Once before its first start, and once after.
    const databases: Environment[] = [{}, { DATABASE_URL: external.url, WAXWING_SECRET_KEY: KEY }]
    for (const database of databases) {
      const found = (await examine({ ...other, ...database })).of('service')
      expect(found.map(({ message }) => message)).toEqual(others)
    }
    expect((await examine({ ...env, ...ports, WAXWING_METRICS_PORT: '0' })).of('service')).toMatchObject([
      { state: 'warning', message: expect.stringContaining('cannot be determined') },
    ])

    service.kill('SIGINT')
    expect((await service.ended).code).toBe(0)
    const without = await examineAlone(env)
    for (const { of } of [beside, without]) {
      expect(of('database').map(({ state, message }) => [state, message])).toEqual([
        ['ok', expect.stringContaining('The embedded database answers: PostgreSQL 18')],
        ['ok', 'It has the schema of this release.'],
      ])
      expect(of('clock')).toMatchObject([{ state: 'ok' }])
      expect(of('sealing key')).toMatchObject([
        {
          state: 'ok',
          message:
            'secret.key in the data folder holds one key, and opens the sealed values in the database.',
        },
      ])
    }
    expect(await folder.findServer()).toBeNull()
  })

  test('lists wrong settings, and checks nothing else', async () => {
    const { findings } = await examineAlone({ WAXWING_LOG_LEVLE: 'info', WAXWING_ALLOW_PLAINTEXT: 'perhaps' })
    expect(findings.map(({ check, state }) => `${check} ${state}`)).toEqual([
      'settings wrong',
      'settings wrong',
    ])
    expect(findings.map(({ message }) => message).join()).toContain('Did you mean WAXWING_LOG_LEVEL?')
  })

  test('reports a lost, a foreign and a world-readable master key', async () => {
    await using folder = await makePreparedFolder()
    const env = { WAXWING_DATA_DIR: folder.path }
    const file = path.join(folder.path, 'secret.key')
    await using installation = await openInstallation({
      config: configOf(env),
      as: 'command',
      log: silentLog,
    })
    await requireSealedValue(installation.database.db, installation.keyRing, 'credential_pepper')

    await chmod(file, 0o644)
    expect((await examine(env)).of('sealing key')).toMatchObject([
      { state: 'ok' },
      { state: 'warning', remedy: `chmod 600 ${file}` },
    ])
    await writeFile(file, `${KEY}\n`)
    expect((await examine(env)).of('sealing key')).toMatchObject([
      { state: 'wrong', message: expect.stringContaining('does not fit this database') },
    ])
    await rm(file)
    expect((await examine(env)).of('sealing key')).toMatchObject([
      { state: 'wrong', message: `${file} is missing.`, remedy: 'Put it back from your backup.' },
    ])
    expect(await readdir(folder.path)).not.toContain('secret.key')
  })

  test('reports a data folder that is not a folder', async () => {
    await using folder = await makeDataFolder()
    const file = path.join(folder.path, 'file')
    await writeFile(file, '')
    const { of } = await examine({ WAXWING_DATA_DIR: path.join(file, 'data') })
    expect(of('data folder')[0]).toMatchObject({
      state: 'wrong',
      message: expect.stringContaining('is not a folder'),
    })
  })

  test.each<[string, Environment, string, string]>([
    ['plaintext', { WAXWING_ALLOW_PLAINTEXT: 'true' }, 'settings', 'without TLS'],
    ['a base URL without TLS', { WAXWING_BASE_URL: 'http://mail.example.com' }, 'base URL', 'not HTTPS'],
    ['no base URL', { WAXWING_HOST: '0.0.0.0' }, 'base URL', 'listens on 0.0.0.0'],
    ['a proxy that is not named', { WAXWING_BASE_URL: 'https://mail.example.com' }, 'settings', 'one client'],
  ])('warns of %s', async (_, change, check, words) => {
    await using folder = await makeDataFolder()
    const { of } = await examine({ WAXWING_DATA_DIR: folder.path, ...change })
    expect(of(check)).toMatchObject([
      { state: 'warning', message: expect.stringContaining(words), remedy: expect.any(String) },
    ])
  })

  test('reports accounts that are not followed, fail, or are behind', async () => {
    await using external = await makeExternalDatabase({ migrated: true })
    const { db } = external.database
    const env = { DATABASE_URL: external.url, WAXWING_SECRET_KEY: KEY }
    const told = async () =>
      (await examine(env)).of('accounts').map(({ state, message }) => `${state}: ${message}`)
    expect(await told()).toEqual(['ok: Every active account is followed.'])

    const tenant = await createTenant(db, 'acme')
    const hoursAgo = new Date(Date.now() - 3 * 3_600_000)
    await sampleAccount(db, tenant!.id, { updated_at: hoursAgo })
    expect(await told()).toEqual([
      'warning: Active accounts that no process follows: 1, since no process with the role sync runs.',
    ])
    const owner = newId()
    const until = sql<Date>`clock_timestamp() + interval '50 seconds'`
    await db.insertInto('instance').values({ id: owner, heartbeat_until: until }).execute()
    const behind = { owner_instance: owner, behind_since: hoursAgo }
    await sampleAccount(db, tenant!.id, behind)
    await sampleAccount(db, tenant!.id, { ...behind, failing_since: new Date(Date.now() - 300_000) })
    await sampleAccount(db, tenant!.id, { owner_instance: owner, differs_since: hoursAgo })
    await sampleAccount(db, tenant!.id, { deleted_at: hoursAgo, purge_after: hoursAgo, purge_failures: 2 })
    expect(await told()).toEqual([
      'wrong: Active accounts that no process follows: 1, the longest for 3 hours.',
      'warning: Accounts that fail at every attempt: 1, the longest for 5 minutes.',
      'warning: Accounts that are not caught up: 1, the longest for 3 hours.',
      'warning: Accounts that differ from their provider: 1, the longest for 3 hours.',
      'warning: Accounts that are deleted and cannot be purged: 1, the longest for 3 hours.',
    ])
  })

  test('reports a blob folder that is a file', async () => {
    await using folder = await makeDataFolder()
    await writeFile(path.join(folder.path, 'blobs'), '')
    expect((await examine({ WAXWING_DATA_DIR: folder.path })).of('data folder')).toMatchObject([
      { state: 'ok' },
      {
        state: 'wrong',
        message: `${path.join(folder.path, 'blobs')} is not a folder.`,
        remedy: expect.stringContaining('WAXWING_BLOB_DIR'),
      },
    ])
  })

  test.each(['WAXWING_METRICS_PORT', 'WAXWING_PORT'])(
    'reports that another program holds %s',
    async setting => {
      await using folder = await makeDataFolder()
      const web = createWebServer((_, response) => void response.end('{}'))
      for (const server of [undefined, web]) {
        await using listener = await openListener(server)
        const env = { WAXWING_DATA_DIR: folder.path, [setting]: String(listener.port) }
        expect((await examine(env)).of('service')).toMatchObject([
          {
            state: 'wrong',
            message: `127.0.0.1:${listener.port} is used by another program.`,
            remedy: expect.stringContaining(setting),
          },
        ])
      }
    },
  )

  test('reports that its service is not ready', SOAK, async () => {
    await using external = await makeExternalDatabase({ migrated: true })
    const id = await findInstallationId(external.database.pool)
    const web = createWebServer(({ url }, response) => {
      const isAsked = url === '/installation'
      response
        .writeHead(isAsked ? 200 : 503)
        .end(JSON.stringify(isAsked ? { id } : { status: 'unavailable' }))
    })
    await using listener = await openListener(web)
    const env = { DATABASE_URL: external.url, WAXWING_SECRET_KEY: KEY }
    const { of } = await examine({ ...env, WAXWING_METRICS_PORT: String(listener.port) })
    expect(of('service')).toMatchObject([
      { state: 'warning', message: 'Runs on this machine, but is not ready.' },
    ])
  })
})

describe('waxwing doctor with DATABASE_URL', () => {
  test('reports the state of the schema without changing it', async () => {
    await using external = await makeExternalDatabase({ migrated: true })
    const { pool } = external.database
    const env = { DATABASE_URL: external.url, WAXWING_SECRET_KEY: KEY }
    const schema = async () => (await examine(env)).of('database')[1]

    expect(await schema()).toMatchObject({ state: 'ok', message: 'It has the schema of this release.' })
    await pool.query('delete from schema_migration where version > 1')
    expect(await schema()).toMatchObject({ state: 'warning', remedy: expect.stringContaining('migrate') })
    await pool.query(`insert into schema_migration (version, name, checksum) values (9999, '9999_new', '')`)
    expect(await schema()).toMatchObject({
      state: 'wrong',
      message: expect.stringContaining('a newer release'),
    })
    await pool.query('drop table schema_migration')
    expect(await schema()).toMatchObject({ state: 'ok', message: expect.stringContaining('It is empty') })
  })

  test('reports a database that does not answer, and continues without it', async () => {
    const env = { DATABASE_URL: 'postgres://waxwing:s3cret@127.0.0.1:1/waxwing' }
    const { of, stdout } = await examine({ ...env, WAXWING_SECRET_KEY: KEY })
    expect(of('database')).toMatchObject([
      { state: 'wrong', message: expect.stringContaining('ECONNREFUSED'), remedy: expect.any(String) },
    ])
    expect(of('sealing key')).toMatchObject([{ state: 'ok' }])
    expect(stdout).not.toContain('s3cret')

    await using folder = await makeDataFolder()
    expect((await examine({ ...env, WAXWING_DATA_DIR: folder.path })).of('sealing key')).toMatchObject([
      { state: 'wrong', message: expect.stringContaining('WAXWING_SECRET_KEY is not set') },
    ])
  })

  test('names the statement that makes the extension which contacts need', async () => {
    await using external = await makeExternalDatabase()
    const { db } = external.database
    const role = `stranger_${newId().replaceAll('-', '')}`
    await sql`create role ${sql.ref(role)} login password 'stranger'`.execute(db)
    await sql`revoke create on database ${sql.ref(new URL(external.url).pathname.slice(1))} from public`.execute(
      db,
    )
    const asStranger = new URL(external.url)
    asStranger.username = role
    asStranger.password = 'stranger'
    const find = async (url: string) =>
      (await examine({ DATABASE_URL: url, WAXWING_SECRET_KEY: KEY })).of('database')
    try {
      expect(await find(asStranger.href)).toContainEqual({
        check: 'database',
        state: 'wrong',
        message:
          'The database lacks the extension pg_trgm, by which contacts are found, and its user may not create it.',
        remedy: 'Let an administrator of the database run: create extension pg_trgm',
      })
      expect((await find(external.url)).map(({ message }) => message).join()).not.toContain('pg_trgm')
      await sql`create extension pg_trgm`.execute(db)
      expect((await find(asStranger.href)).map(({ message }) => message).join()).not.toContain('pg_trgm')
    } finally {
      await sql`drop role ${sql.ref(role)}`.execute(db)
    }
  })

  test('names the servers of accounts that may not be reached', async () => {
    await using external = await makeExternalDatabase({ migrated: true })
    const { db } = external.database
    const tenant = await createTenant(db, 'acme')
    const dav = { contactsUrl: 'https://10.4.5.6:8443/books/', calendarUrl: null, user: 'ada' }
    const imap = { imap: { host: '10.1.2.3', port: 993 }, smtp: null, dav }
    await sampleAccount(db, tenant?.id ?? '', { imap: JSON.stringify(imap) })
    const env = { DATABASE_URL: external.url, WAXWING_SECRET_KEY: KEY }
    expect((await examine(env)).of('egress')).toContainEqual({
      check: 'egress',
      state: 'warning',
      message: 'A server of accounts: 10.1.2.3 is at 10.1.2.3, which is not public.',
      remedy: 'If it is your own server, allow it: WAXWING_EGRESS_ALLOW=10.1.2.3:993',
    })
    expect((await examine(env)).of('egress')).toContainEqual({
      check: 'egress',
      state: 'warning',
      message: 'A server of accounts: 10.4.5.6 is at 10.4.5.6, which is not public.',
      remedy: 'If it is your own server, allow it: WAXWING_EGRESS_ALLOW=10.4.5.6:8443',
    })
    const allowed = await examine({ ...env, WAXWING_EGRESS_ALLOW: '10.1.2.3:993,10.4.5.6:8443' })
    const messages = allowed.of('egress').map(({ message }) => message)
    expect(messages.filter(message => message.includes('A server of accounts'))).toEqual([])
  })

  test('greets the SMTP servers of accounts, without logging in', SOAK, async () => {
    await using external = await makeExternalDatabase({ migrated: true })
    const { db } = external.database
    const env = { DATABASE_URL: external.url, WAXWING_SECRET_KEY: KEY, WAXWING_EGRESS_ALLOW: '127.0.0.1' }
    const said = async (more: Environment = {}) =>
      (await examine({ ...env, ...more })).of('sending').map(({ state, message }) => `${state}: ${message}`)
    expect(await said()).toEqual(['ok: No account has an SMTP server.'])

    await using sink = await startSmtpSink({ user: 'someone', password: 'secret' })
    await using silent = await openListener()
    const tenant = await createTenant(db, 'acme')
    for (const port of [sink.port, sink.port, silent.port]) {
      const smtp = { host: '127.0.0.1', port, security: 'none', user: 'someone' }
      const imap = { imap: { host: '127.0.0.1', port: 993 }, smtp }
      await sampleAccount(db, tenant!.id, { imap: JSON.stringify(imap) })
    }
    expect(await said()).toEqual([
      'warning: SMTP servers are told no name of this service, since its address is not public. Some of them then refuse mail.',
      'ok: SMTP servers of accounts that answer: 1',
      `warning: 127.0.0.1:${silent.port}, accounts: 1. The server closed the connection.`,
    ])
    const [name] = await said({ WAXWING_BASE_URL: 'https://mail.example.com' })
    expect(name).toBe('ok: SMTP servers are told the name mail.example.com.')
    expect(sink.commands).toEqual(['EHLO [127.0.0.1]', 'QUIT', 'EHLO mail.example.com', 'QUIT'])

    // The check of egress reports servers that may not be reached.
    const refused = await examine({ ...env, WAXWING_EGRESS_ALLOW: '10.0.0.0/8' })
    expect(refused.of('sending')).toHaveLength(1)
    expect(
      refused
        .of('egress')
        .map(({ message }) => message)
        .join(),
    ).toContain('127.0.0.1')
  })
})

describe('waxwing doctor --connect', () => {
  test('connects if the guard allows it, and only if asked to', async () => {
    await using folder = await makeDataFolder()
    await using listener = await openListener()
    const env = { WAXWING_DATA_DIR: folder.path }
    const target = `127.0.0.1:${listener.port}`
    const allowed = { ...env, WAXWING_EGRESS_ALLOW: target }

    const refused = await examine(env, '--connect', target)
    expect(refused.of('egress')).toMatchObject([
      { state: 'wrong', remedy: `If it is your own server, allow it: WAXWING_EGRESS_ALLOW=${target}` },
    ])
    await examine(allowed)
    expect(listener.count()).toBe(0)

    const connected = await examine(allowed, '--connect', target)
    expect(connected.of('egress')).toMatchObject([
      { state: 'ok', message: `Connected to ${target} at 127.0.0.1.` },
    ])
    expect(listener.count()).toBe(1)
  })

  test('reports the reason why a connection failed', async () => {
    await using folder = await makeDataFolder()
    const env = { WAXWING_DATA_DIR: folder.path, WAXWING_EGRESS_ALLOW: '127.0.0.1' }
    expect((await examine(env, '--connect', '127.0.0.1:1')).of('egress')).toMatchObject([
      { state: 'wrong', message: 'No connection to 127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1' },
    ])
  })

  test.each(['example.com', 'example.com:0', 'example.com:70000', '::1:993', ':993'])(
    'refuses %s',
    async target => {
      const refused = examine({}, '--connect', target)
      await expect(refused).rejects.toBeInstanceOf(CommanderError)
      await expect(refused).rejects.toMatchObject({
        exitCode: 1,
        message: expect.stringContaining('Give host:port'),
      })
    },
  )
})
