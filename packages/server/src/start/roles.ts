import { hostname } from 'node:os'
import type { SecureContext } from 'node:tls'
import type { Registry } from 'prom-client'
import product from '../../package.json' with { type: 'json' }
import type { Config } from '../config.ts'
import type { Role } from '../config/settings.ts'
import type { Clock } from '../kit/clock.ts'
import type { Overload } from '../door/overload.ts'
import { accountKeys } from '../features/accounts/accounts/secrets.ts'
import { type BodyIndex, openBodyIndex } from '../features/mail/content/body-index.ts'
import { type BlobStore, openBlobStore } from '../kit/blobs/blob-store.ts'
import { trustAlso } from '../kit/authorities.ts'
import { egressGuard, type EgressGuard, type Resolver } from '../kit/egress/guard.ts'
import { parseEgressAllow } from '../kit/egress/allow-list.ts'
import type { Logger } from '../kit/log.ts'
import { type MessageReader, openMessageReader } from '../kit/mime/message-reader.ts'
import { openWaker, openWakes, type Waker, type Wakes } from '../database/wake.ts'
import { Instance } from '../jobs/instance.ts'
import { type Api, type AutoconfigPlaces, startApi } from './api.ts'
import type { Installation } from './database.ts'
import type { ConnectorOf } from '../connections/connections.ts'
import { connectors, senders } from '../connections/connector.ts'
import { HostBudget } from '../connections/host-budget.ts'
import { startJobsRole } from './jobs.ts'
import { clientName } from '../providers/smtp/client-name.ts'
import { SharedConnections } from '../connections/shared-connections.ts'
import type { Readiness } from './readiness.ts'
import { startSyncRole, type SyncPace } from './sync.ts'

export type { Role }

/** Bodies are handed over in batches of small ones: while this thread does something else, the reading one goes on. */
const BODIES_READ_AT_ONCE = 32

/** What every role is started with. */
export interface RoleOptions {
  config: Config
  installation: Installation
  pepper: Buffer
  metrics: Registry
  readiness: Readiness
  log: Logger
  clock: Clock
  resolve: Resolver | undefined
  autoconfig: AutoconfigPlaces
  isStrict: boolean
  /** In place of what watches this process. */
  overload: Overload | undefined
  pace: SyncPace
}

/** What the roles of one process share. */
export interface Shared extends RoleOptions {
  instance: Instance
  /** What the wakers of all processes send. */
  wakes: Wakes
  guard: EgressGuard
  /** That servers of accounts are checked against; undefined for the public ones. */
  authorities: SecureContext | undefined
  /** Of accounts that were changed. */
  waker: Waker
  /** Of accounts with new mail. */
  newMail: Waker
  /** Of connections to each IMAP server, whoever makes them. */
  budget: HostBudget
  /** Of connections to each SMTP server. */
  smtpBudget: HostBudget
  /** The name that EHLO says to SMTP servers. */
  clientName: string
  connectorOf: ConnectorOf
  connections: SharedConnections
  blobs: BlobStore
  bodies: BodyIndex
  /** Of what is stored: apart from that of the API, whose callers wait. */
  reader: MessageReader
}

export interface Roles extends AsyncDisposable {
  address: string | null
  /** Ends what takes work: requests under way get so many seconds. */
  drain(seconds: number): Promise<void>
}

/** Starts the roles that the settings name, the API last: it answers once everything behind it runs. */
export async function startRoles(options: RoleOptions): Promise<Roles> {
  const { config, installation, log, resolve } = options
  await using opened = new AsyncDisposableStack()
  const { database, isEmbedded: isAlone } = installation
  const facts = { roles: config.roles, host: hostname(), version: product.version }
  const instance = opened.use(
    await Instance.start({ address: database.address, log, facts, isAlone, pace: options.pace.lease }),
  )
  const wakes = opened.use(openWakes(database.address, log))
  const waker = opened.use(openWaker(installation.database.db, 'waxwing_wake', log))
  const newMail = opened.use(openWaker(installation.database.db, 'waxwing_mail', log))
  const guard = egressGuard({
    allow: parseEgressAllow(config.egressAllow),
    ...(resolve ? { resolve } : {}),
  })
  const budget = new HostBudget(config.connectionsPerHost)
  const smtpBudget = new HostBudget(config.connectionsPerHost)
  const ehloName = clientName(config.baseUrl)
  const authorities = trustAlso(config.certificateAuthorities)
  const reaching = {
    db: installation.database.db,
    accountKeys: accountKeys(installation.keyRing),
    guard,
    budget,
    smtpBudget,
    clientName: ehloName,
    allowPlaintext: config.allowPlaintext,
    authorities,
    ...options.pace,
  }
  const connectorOf = connectors(reaching)
  const connections = opened.use(new SharedConnections({ connectorOf, senderOf: senders(reaching) }))
  const blobs = openBlobStore(config.blobDir)
  const reader = opened.use(openMessageReader({ readsAtOnce: BODIES_READ_AT_ONCE }))
  const bodies = opened.use(
    openBodyIndex({
      db: installation.database.db,
      services: { blobs, accountKeys: accountKeys(installation.keyRing), log },
      reader,
      isPolled: config.roles.includes('jobs'),
    }),
  )
  const shared: Shared = {
    ...options,
    instance,
    wakes,
    guard,
    authorities,
    waker,
    newMail,
    budget,
    smtpBudget,
    clientName: ehloName,
    connectorOf,
    connections,
    blobs,
    bodies,
    reader,
  }
  const workers: AsyncDisposable[] = []
  if (config.roles.includes('jobs')) workers.push(opened.use(await startJobsRole(shared)))
  if (config.roles.includes('sync')) workers.push(opened.use(await startSyncRole(shared)))
  let api: Api | null = null
  if (config.roles.includes('api')) api = opened.use(await startApi(shared))
  const running = opened.move()
  return {
    address: api?.address ?? null,
    async drain(seconds) {
      await Promise.all([api?.close(seconds), ...workers.map(worker => worker[Symbol.asyncDispose]())])
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
