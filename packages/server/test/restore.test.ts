import { randomBytes, randomUUID } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { Client } from 'pg'
import { expect, inject, test } from 'vitest'
import { SUPERUSER } from '../src/database/embedded/cluster.ts'
import { migrate } from '../src/database/migrate.ts'
import { readMigrations } from '../src/database/migration-file.ts'
import { clientSettings, type DatabaseAddress } from '../src/database/pool.ts'
import { createBackup, readBackup } from '../src/cli/backup/backup-file.ts'
import { MARK_KEY } from '../src/start/blob-mark.ts'
import { type Caller, callerOf } from './caller.ts'
import { waitForContacts } from './contacts/carddav-account.ts'
import { davTestClient } from './servers/dav-client.ts'
import { startRadicale } from './servers/radicale.ts'
import { SERVER_KINDS, useServer } from './servers/shared-server.ts'
import { openWorld } from './servers/world.ts'
import { makePreparedFolder } from './prepared-folder.ts'
import { makeDataFolder, runWaxwing, startServiceProcess } from './service-process.ts'
import { connectMailbox, readMessages, waitForFirstSync } from './sync/followed-account.ts'
import { waitUntil } from './wait-until.ts'
import { SOAK } from './soak.ts'

const LOCAL_MAIL = { WAXWING_EGRESS_ALLOW: '127.0.0.1/32', WAXWING_ALLOW_PLAINTEXT: 'true' }
const KEY = randomBytes(32).toString('base64')

async function query<Row extends object>(address: DatabaseAddress, statement: string): Promise<Row[]> {
  // Not under one of our names, since a restore would then refuse to begin.
  const client = new Client(clientSettings(address, 'a test'))
  await client.connect()
  try {
    return (await client.query<Row>(statement)).rows
  } finally {
    await client.end()
  }
}

/** Creates an empty database on the server of the test run, with an owner who has no other rights. */
async function makeOwnedDatabase() {
  const { socketFolder, password } = inject('postgres')
  const admin = { socketFolder, user: SUPERUSER, password, database: 'postgres' }
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await query(admin, `create role ${name} login password 'plain'`)
  await query(admin, `create database ${name} owner ${name} template template0`)
  const url = `postgres://${name}:plain@localhost/${name}?host=${encodeURIComponent(socketFolder)}`
  return {
    address: { url },
    env: { DATABASE_URL: url, WAXWING_SECRET_KEY: KEY },
    async [Symbol.asyncDispose]() {
      await query(admin, `drop database ${name} with (force)`)
      await query(admin, `drop role ${name}`)
    },
  }
}

const useIt = useServer(SERVER_KINDS[0].start)
const radicale = useServer(startRadicale)

/** Gives an account an address book with one contact, and waits until that is indexed. */
async function addContacts(caller: Caller, accountId: string) {
  const davUser = await radicale().addUser()
  const client = davTestClient(radicale(), davUser)
  const book = await client.makeBook('people', 'People')
  await client.put(
    `${book}ada.vcf`,
    'BEGIN:VCARD\r\nVERSION:3.0\r\nUID:ada\r\nFN:Ada Lovelace\r\nN:Lovelace;Ada;;;\r\nEND:VCARD\r\n',
  )
  const { user, password } = davUser
  const dav = { contactsUrl: radicale().url.href, calendarUrl: null, user, password }
  expect(await caller.patch(`/v1/accounts/${accountId}/imap-settings`, { dav })).toMatchObject({
    status: 200,
  })
  await waitForContacts(caller, accountId)
  return findContacts(caller, accountId, 'lovel')
}

async function findContacts(caller: Caller, accountId: string, q: string): Promise<unknown> {
  const { status, body } = await caller.get(`/v1/accounts/${accountId}/contacts?q=${q}`)
  expect(status).toBe(200)
  return body
}

test(
  'a backup of the embedded database restores into another server, while no service runs there, and back with its key',
  { ...SOAK, timeout: 400_000 },
  async () => {
    await using opened = new AsyncDisposableStack()
    const folder = opened.use(await makePreparedFolder())
    const place = opened.use(await makeDataFolder())
    const external = opened.use(await makeOwnedDatabase())
    const back = opened.use(await makeDataFolder())
    const file = path.join(place.path, 'backup')
    const first = opened.use(
      await startServiceProcess(folder, { env: { WAXWING_SECRET_KEY: KEY, ...LOCAL_MAIL } }),
    )
    const { key } = first
    const server = useIt()
    const user = await server.addUser()
    const world = opened.use(await openWorld(server, user))
    await world.deliver({ raw: 'Subject: before\r\n\r\n' })
    const accountId = await connectMailbox(callerOf(first.address, key), server, user)
    await waitForFirstSync(callerOf(first.address, key), accountId)
    const contacts = await addContacts(callerOf(first.address, key), accountId)
    expect(contacts).toMatchObject({ items: [{ displayName: 'Ada Lovelace' }] })
    await callerOf(first.address, key).patch('/v1/settings', { syncWindowDays: 17 })
    const env = { WAXWING_DATA_DIR: folder.path, WAXWING_SECRET_KEY: KEY }
    expect((await runWaxwing(['backup', file], { env })).code).toBe(0)
    await callerOf(first.address, key).patch('/v1/settings', { syncWindowDays: 18 })
    await first[Symbol.asyncDispose]()

    const inPlace = { ...external.env, WAXWING_DATA_DIR: place.path }
    expect(await runWaxwing(['restore', file], { env: inPlace })).toMatchObject({ code: 0 })
    const second = opened.use(await startServiceProcess(place, { env: { ...external.env, ...LOCAL_MAIL } }))
    const restored = await callerOf(second.address, key).get('/v1/settings')
    expect(restored.body).toMatchObject({ syncWindowDays: 17 })
    expect(await findContacts(callerOf(second.address, key), accountId, 'lovel')).toEqual(contacts)
    expect(
      await query(
        external.address,
        "select from pg_indexes where tablename = 'contact' and indexdef ~ 'gin_trgm_ops'",
      ),
    ).toHaveLength(1)
    // The process that owned the account is not in the backup; another one follows it at once.
    await world.deliver({ raw: 'Subject: after\r\n\r\n' })
    await waitUntil('the new mail', async () => {
      const messages = await readMessages(callerOf(second.address, key), accountId)
      return messages.some(({ subject }) => subject === 'after')
    })
    expect(await readMessages(callerOf(second.address, key), accountId)).toHaveLength(2)
    const { body } = await callerOf(second.address, key).get('/v1/changes')
    // Another session of the service is opened for a request, but this one by itself.
    await query(
      external.address,
      'select pg_terminate_backend(pid) from pg_stat_activity where usename = current_user and pid <> pg_backend_pid()',
    )
    expect(await runWaxwing(['restore', '--replace', file], { env: inPlace })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        `Another Waxwing process uses the database ("waxwing service, process ${second.pid},`,
      ),
    })

    const withKey = path.join(place.path, 'with-key')
    const answer = await runWaxwing(['backup', '--with-key', withKey], { env: inPlace })
    expect(answer.stdout).toContain('It contains the master keys')
    expect((await readFile(file)).includes(KEY)).toBe(false)
    await callerOf(second.address, key).patch('/v1/settings', { syncWindowDays: 19 })
    second.kill('SIGINT')
    await second.ended

    // Existing data is deleted only if that is requested.
    const refused = await runWaxwing(['restore', withKey], { env: inPlace })
    expect(refused.stderr).toContain('There is already an installation with data here')
    // The store keeps its mark, whatever it was in the backup.
    await writeFile(path.join(place.path, 'blobs', MARK_KEY), randomUUID())
    expect(await runWaxwing(['restore', '--replace', withKey], { env: inPlace })).toMatchObject({ code: 0 })
    const readInPlace = async () => {
      const third = opened.use(await startServiceProcess(place, { env: external.env }))
      const caller = callerOf(third.address, key)
      expect((await caller.get('/v1/settings')).body).toMatchObject({ syncWindowDays: 17 })
      const old = await caller.get(`/v1/changes?cursor=${String(body['nextCursor'])}`)
      expect(old).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
    }
    const restoreBack = async () => {
      const embedded = { WAXWING_DATA_DIR: back.path }
      expect(await runWaxwing(['restore', withKey], { env: embedded })).toMatchObject({ code: 0 })
      expect(await readdir(back.path)).toEqual(expect.arrayContaining(['secret.key', 'postgres']))
      const fourth = opened.use(await startServiceProcess(back))
      const settings = await callerOf(fourth.address, key).get('/v1/settings')
      expect(settings.body).toMatchObject({ syncWindowDays: 17 })
    }
    const ends = await Promise.allSettled([readInPlace(), restoreBack()])
    expect(ends.filter(({ status }) => status === 'rejected')).toEqual([])
  },
)

test('a backup of an older schema is migrated, and what is refused or fails leaves everything as it was', async () => {
  await using place = await makeDataFolder()
  await using old = await makeOwnedDatabase()
  await using target = await makeOwnedDatabase()
  const all = await readMigrations()
  await migrate(old.address, all.slice(0, 4))
  await query(old.address, `insert into tenant (id, name, settings) values ('${randomUUID()}', 'acme', '{}')`)
  const file = path.join(place.path, 'backup')
  expect(await runWaxwing(['backup', file], { env: old.env })).toMatchObject({ code: 0 })
  expect(await query(old.address, 'select from schema_migration')).toHaveLength(4)

  const env = { ...target.env, WAXWING_DATA_DIR: place.path }
  expect(await runWaxwing(['restore', file], { env })).toMatchObject({ code: 0 })
  expect(await query(target.address, 'select name from tenant')).toEqual([{ name: 'acme' }])
  expect(await query(target.address, 'select from schema_migration')).toHaveLength(all.length)
  expect(
    await query(target.address, `select from feed_epoch where epoch <> '' and place is not null`),
  ).toHaveLength(1)

  await query(
    target.address,
    `insert into tenant (id, name, settings) values ('${randomUUID()}', 'later', '{}')`,
  )
  await query(target.address, `insert into schema_migration values (9999, '9999_from_the_future', 'x')`)
  const newer = path.join(place.path, 'newer')
  expect(await runWaxwing(['backup', newer], { env })).toMatchObject({ code: 0 })
  expect(await runWaxwing(['restore', '--replace', newer], { env })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('9999_from_the_future'),
  })

  // Its checksum is right, but it claims more rows than it has.
  const wrong = path.join(place.path, 'wrong')
  {
    await using writer = await createBackup(wrong)
    for await (const { kind, content } of readBackup(file)) {
      const ending = kind === 'E' ? JSON.parse(content.toString()) : null
      await writer.write(kind, ending ? { ...ending, rows: { ...ending.rows, tenant: 2 } } : content)
    }
    await writer.commit()
  }
  const failed = await runWaxwing(['restore', '--replace', wrong], { env })
  expect(failed).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('tenant were loaded incompletely'),
  })
  expect(await query(target.address, 'select name from tenant order by name')).toEqual([
    { name: 'acme' },
    { name: 'later' },
  ])
  expect(await query(target.address, 'select from schema_migration')).toHaveLength(all.length + 1)

  await query(target.address, 'drop schema public cascade; create schema public; create table other (id int)')
  expect((await runWaxwing(['restore', '--replace', file], { env })).stderr).toContain(
    'do not belong to Waxwing',
  )
}, 300_000)
