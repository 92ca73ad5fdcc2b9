import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { expect, test } from 'vitest'
import type { Finding } from '../src/cli/doctor/finding.ts'
import { callerOf } from './caller.ts'
import { startDovecot } from './servers/dovecot.ts'
import type { MailServer, TestUser } from './servers/mail-server.ts'
import { useServer } from './servers/shared-server.ts'
import { openWitness } from './servers/witness.ts'
import { makePreparedFolder } from './prepared-folder.ts'
import { makeDataFolder, runWaxwing, startServiceProcess, until } from './service-process.ts'
import { mountSmallDisk } from './small-disk.ts'
import { waitUntil } from './wait-until.ts'
import { SOAK } from './soak.ts'

/** Room for a cluster, its write-ahead log, and a copy of PostgreSQL if its user cannot reach the installed one. */
const DISK_MEGABYTES = 400
/** A start or an examination that waits takes a minute; this is less, with a margin for slow machines. */
const AT_ONCE_MILLISECONDS = 50_000
/** More messages than fit into the existing pages. */
const ARRIVALS = 300
const FULL = /disk .*is full/i

const useDovecot = useServer(() => startDovecot())

function connectionOf({ email, password }: TestUser, { port }: MailServer) {
  return { email, password, imap: { host: '127.0.0.1', port, security: 'none' }, smtp: null }
}

test('on a full disk writes are refused as overloaded, readiness and runtime report it, and it recovers; a start and the doctor report it at once', async context => {
  await using disk = await mountSmallDisk(context, DISK_MEGABYTES)
  await using folder = await makeDataFolder(disk.path)
  const dovecot = useDovecot()
  const user = await dovecot.addUser()
  const env = {
    WAXWING_DATA_DIR: folder.path,
    WAXWING_EGRESS_ALLOW: '127.0.0.1',
    WAXWING_ALLOW_PLAINTEXT: 'true',
  }
  await using service = await startServiceProcess(folder, { env })
  const api = callerOf(service.address, service.key)
  const connected = await api.post<Account>('/v1/imap-accounts', connectionOf(user, dovecot))
  expect(connected.status).toBe(200)
  const { id } = connected.body
  const runtime = async () => (await api.get<Account>(`/v1/accounts/${id}`)).body.runtime
  await until(async () => (await runtime())?.state === 'live', 'the account is followed')
  const isReady = async () => (await api.get('/health/ready')).status === 200
  expect(await isReady()).toBe(true)

  await disk.fill()
  const statuses = new Set<number>()
  await until(async () => {
    const { status, body, headers } = await api.post(`/v1/accounts/${id}/tokens`, {})
    statuses.add(status)
    if (status !== 503) return false
    expect(body).toMatchObject({ defined: true, code: 'overloaded' })
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    return true
  }, 'a write fails for lack of space')
  expect([...statuses].filter(status => status !== 200)).toEqual([503])
  expect(await isReady()).toBe(false)
  // Lines of the log come by another way than answers, and may be later.
  await waitUntil('the line of the log', async () =>
    /The disk of the database is full[^"]*Free space on it/.test(service.output()),
  )
  // Reads are still served.
  expect((await api.get('/v1/accounts')).status).toBe(200)

  await using witness = await openWitness(dovecot, user)
  for (let count = 0; count < ARRIVALS; count += 1) {
    const subject = Array.from({ length: 40 }, (_, word) => `word${count}x${word}`).join(' ')
    await witness.command('APPEND INBOX ', Buffer.from(`Subject: ${subject}\r\n\r\nno room`))
  }
  await waitUntil('the account says why it is not followed', async () =>
    FULL.test((await runtime())?.detail ?? ''),
  )

  await disk.free()
  await until(isReady, 'it is ready again')
  expect((await api.post(`/v1/accounts/${id}/tokens`, {})).status).toBe(200)
  await until(async () => (await runtime())?.state === 'live', 'the account is followed again')

  service.kill('SIGTERM')
  await service.ended
  await disk.fill()
  const atOnce = async (...args: string[]) => {
    const startedAt = performance.now()
    const ended = await runWaxwing(args, { env })
    expect(performance.now() - startedAt).toBeLessThan(AT_ONCE_MILLISECONDS)
    return ended
  }
  const started = await atOnce('serve')
  const doctor = await atOnce('doctor', '--json')

  expect(started.code).toBe(1)
  expect(started.stderr).toMatch(FULL)
  expect(started.stderr).toContain(folder.path)
  expect(started.stderr).not.toContain('    at ')
  expect(doctor.code).toBe(1)
  const { findings }: { findings: Finding[] } = JSON.parse(doctor.stdout)
  const wrong = findings.filter(({ state }) => state === 'wrong')
  expect(wrong.map(({ check }) => check)).toEqual(['data folder', 'database'])
  expect(wrong[1]?.message).toMatch(FULL)

  await disk.free()
  await using again = await startServiceProcess(folder, { env })
  expect(again.key).toBeNull()
})

test(
  'messages can be read while the disk for stored messages is full, and the log has the remedy',
  SOAK,
  async context => {
    await using disk = await mountSmallDisk(context, 1)
    await using folder = await makePreparedFolder()
    const dovecot = useDovecot()
    const user = await dovecot.addUser()
    await using witness = await openWitness(dovecot, user)
    await witness.command('APPEND INBOX ', Buffer.from('Subject: to be kept\r\n\r\nno room'))
    await disk.fill()
    const env = {
      WAXWING_EGRESS_ALLOW: '127.0.0.1',
      WAXWING_ALLOW_PLAINTEXT: 'true',
      WAXWING_BLOB_DIR: disk.path,
    }
    await using service = await startServiceProcess(folder, { env })
    const { get, post } = callerOf(service.address, service.key)
    const { body: account } = await post<Account>('/v1/imap-accounts', connectionOf(user, dovecot))
    const [message] = await waitUntil('the message is found', async () => {
      const { body } = await get<{ items: { id: string }[] }>(`/v1/accounts/${account.id}/messages`)
      return body.items.length > 0 && body.items
    })
    expect(await get(`/v1/accounts/${account.id}/messages/${message?.id}`)).toMatchObject({ status: 200 })
    await waitUntil('the log to say what to do', async () =>
      /A message could not be stored\. The disk of [^"]* is full\. Free space on it/.test(service.output()),
    )
  },
)

test('a first start with too little room ends with an explanation', SOAK, async context => {
  await using disk = await mountSmallDisk(context, DISK_MEGABYTES)
  for (const leftBytes of [0, 1_000_000, 20_000_000]) {
    await using folder = await makeDataFolder(disk.path)
    await disk.fill(leftBytes)
    const { code, stderr } = await runWaxwing(['serve'], { env: { WAXWING_DATA_DIR: folder.path } })
    expect({ leftBytes, code }).toEqual({ leftBytes, code: 1 })
    expect(stderr).toMatch(FULL)
    expect(stderr).not.toContain('    at ')
    await disk.free()
  }
})
