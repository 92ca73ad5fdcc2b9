import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SUPERUSER } from '../../src/database/embedded/cluster.ts'
import { migrate } from '../../src/database/migrate.ts'
import { type Database, openDatabase } from '../../src/database/pool.ts'
import type { Random } from '../seeded.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { type FaultProxy, startFaultProxy } from '../servers/fault-proxy.ts'
import type { MailServer } from '../servers/mail-server.ts'
import { type SmtpSink, startSmtpSink } from '../servers/smtp-sink.ts'
import { makeDataFolder } from '../service-process.ts'
import { makeClockTurnable } from '../turned-clock.ts'
import { waitUntil } from '../wait-until.ts'
import { type AddressBooks, openAddressBooks } from './address-books.ts'
import { startCapture } from './capture.ts'
import { type DatabasePair, openDatabasePair } from './database-pair.ts'
import { HANGING_HOSTS } from './hangers.ts'
import type { History } from './history.ts'
import { type Office, openOffice } from './office.ts'
import { LAYOUTS, type Layout, openProcessSlot, type ProcessSlot } from './processes.ts'
import { type Receivers, startReceivers, type TemperName, TEMPERS } from './receivers.ts'
import { findClient, type SessionWatch, watchSessions } from './sessions.ts'
import { openStores, type Stores, type StoresKind } from './stores.ts'

/** Everything in which the service lives during a run, and what can be done to it. */
export interface Bed extends AsyncDisposable {
  slots: readonly ProcessSlot[]
  databases: DatabasePair
  /** Past all proxies, for what the run itself reads. */
  database: Database
  mail: MailServer
  sink: SmtpSink
  office: Office
  books: AddressBooks
  receivers: Receivers
  endpoints: ReadonlyMap<string, TemperName>
  imapProxy: FaultProxy
  smtpProxy: FaultProxy
  /** Null if the processes share only the database and a folder. */
  stores: Stores | null
  sessions: SessionWatch
  /** The tenant whose feed is read and whose endpoints get webhooks, and a key of it. */
  tenantId: string
  key: string
  /** The settings with which the command line works on the same installation. */
  env: Record<string, string>
  /** The names of all stored files or objects. */
  listStored(): Promise<string[]>
  /** Where the API may be asked now; some of them may be stopped or cut off. */
  addresses(): string[]
}

const PLACE_NAMES = ['one', 'two', 'three'] as const
const DISTRUSTFUL_SERVICE = fileURLToPath(new URL('./distrustful-service.ts', import.meta.url))

export async function openBed(
  { layout, stores: kind, isShort }: { layout: Layout; stores: StoresKind; isShort: boolean },
  random: Random,
  history: History,
): Promise<Bed> {
  await using opened = new AsyncDisposableStack()
  const databases = opened.use(await openDatabasePair())
  const { primary } = databases
  await migrate(primary.address('postgres'))
  const databaseUrl = ({ host, port }: { host: string; port: number }) =>
    `postgres://${SUPERUSER}:${primary.password}@${host}:${port}/postgres`
  if (!isShort) await makeClockTurnable(primary.address('postgres'))
  const ownProxy = opened.use(await startFaultProxy(databases.target))
  const database = opened.use(
    openDatabase({ address: { url: databaseUrl(ownProxy) }, applicationName: 'nemesis' }),
  )
  await startCapture(database.db)
  if (!isShort) await databases.addStandby()
  const mail = opened.use(await startDovecot({ connectionsPerUserMax: 50 }))
  const sink = opened.use(await startSmtpSink())
  const tempers = isShort ? [...new Set(TEMPERS)] : TEMPERS
  const endpoints = new Map(tempers.map((temper, number) => [`e${number}-${temper}`, temper]))
  const receivers = opened.use(await startReceivers(endpoints, random.fork('receivers'), history))

  const slots: Array<ProcessSlot & AsyncDisposable> = []
  const addresses = () => slots.flatMap(({ address }) => address ?? [])
  const office = opened.use(await openOffice(addresses, random.fork('pushes')))
  const namesOfProcesses = () => new Map(slots.flatMap(({ names }) => [...names]))
  const sessions = watchSessions(async connection => {
    const names = namesOfProcesses()
    const pid = await findClient(connection, [...names.keys()])
    return pid === null ? null : (names.get(pid) ?? null)
  }, history)
  const imapProxy = opened.use(await startFaultProxy({ host: mail.host, port: mail.directPort }, sessions))
  const smtpProxy = opened.use(await startFaultProxy({ host: '127.0.0.1', port: sink.port }))

  const books = opened.use(await openAddressBooks())
  const stores = kind === 'none' ? null : opened.use(await openStores())

  const folder = opened.use(await makeDataFolder())
  const env = {
    WAXWING_SECRET_KEY: randomBytes(32).toString('base64'),
    WAXWING_DATA_DIR: folder.path,
    WAXWING_EGRESS_ALLOW: ['127.0.0.1', ...HANGING_HOSTS].map(host => `${host}/32`).join(','),
    WAXWING_ALLOW_PLAINTEXT: 'true',
    WAXWING_WEBHOOK_ALLOW: '127.0.0.1/32',
    WAXWING_WEBHOOK_ALLOW_HTTP: 'true',
    WAXWING_CONNECTIONS_PER_HOST: '500',
    WAXWING_LINKS_URL: 'https://links.example.com',
    ...(isShort ? {} : { WAXWING_DATABASE_FAILOVER: 'synchronous' }),
    ...office.env,
    ...stores?.env,
  }
  const program = isShort ? {} : { program: DISTRUSTFUL_SERVICE }
  for (const [number, roles] of LAYOUTS[layout].entries()) {
    const databaseProxy = opened.use(await startFaultProxy(databases.target))
    const name = PLACE_NAMES[number] ?? `${number}`
    slots.push(
      opened.use(await openProcessSlot({ ...program, name, roles, folder, databaseProxy, databaseUrl, env })),
    )
  }
  const [first, ...others] = slots
  if (!first) throw new Error('A layout has processes')
  // The first one makes the key.
  await first.start()
  const { firstKey } = first
  if (firstKey === null) throw new Error('The first start printed no key')
  await Promise.all(others.map(slot => slot.start()))

  const { id: tenantId } = await database.db.selectFrom('tenant').select('id').executeTakeFirstOrThrow()
  const owned = opened.move()
  return {
    slots,
    databases,
    database,
    mail,
    sink,
    office,
    books,
    receivers,
    endpoints,
    imapProxy,
    smtpProxy,
    stores,
    sessions,
    tenantId,
    key: firstKey,
    env: {
      ...env,
      DATABASE_URL: databaseUrl(ownProxy),
    },
    listStored: () => (stores ? stores.listObjects() : listFiles(join(folder.path, 'blobs'))),
    addresses,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries
    .filter(entry => entry.isFile())
    .map(entry => `${entry.parentPath}/${entry.name}`.slice(folder.length + 1))
}

/** Starts the database server again. The memory that its processes shared may be in use for a moment longer. */
export async function restartDatabase({ databases: { primary } }: Pick<Bed, 'databases'>): Promise<void> {
  await waitUntil('the database to start', () =>
    primary.start().then(
      () => true,
      () => false,
    ),
  )
}
