import { randomBytes } from 'node:crypto'
import { SCOPES, type Scope } from '@waxwing/contract/operation.ts'
import { type Config, readConfig } from '../src/config.ts'
import type { Role } from '../src/config/settings.ts'
import { OutageLog } from '../src/database/outage-log.ts'
import type { Database, Db } from '../src/database/pool.ts'
import { requireSealedValue } from '../src/database/sealed-value.ts'
import { createApiKey } from '../src/features/tenancy/credentials/store.ts'
import { createTenant } from '../src/features/tenancy/tenants/store.ts'
import { neverOverloaded } from '../src/door/overload.ts'
import { environmentKeyRing, type KeyRing } from '../src/kit/key-ring.ts'
import { newId } from '../src/kit/ids.ts'
import { openLog } from '../src/kit/log.ts'
import { type Service, type ServiceOptions, startOn } from '../src/main.ts'
import { openTestDatabase } from './open-database.ts'
import { borrowBlobFolder } from './borrowed-blob-folder.ts'
import { type Caller, callerOf } from './caller.ts'

export interface TestAppOptions extends Partial<Omit<ServiceOptions, 'log' | 'onLost'>> {
  /** The API only, by default. */
  roles?: Role[]
  /**
   * Hosts and CIDRs that may be reached although they are private, such as `127.0.0.1/32` for the mail servers of a
   * test.
   */
  egressAllow?: string[]
  allowPlaintext?: boolean
  /** PEM of authorities to trust beside the public ones. */
  certificateAuthority?: string
  config?: Partial<Config>
  /** Scopes of the key that `app.get` and the others use; every scope by default. */
  scopes?: readonly Scope[]
  /** An existing database to use. It is not disposed with the app. */
  database?: Database
  keyRing?: KeyRing
}

export interface KeyOptions {
  tenantId?: string
  scopes?: readonly Scope[]
  accountIds?: string[] | null
  expiresAt?: Date | null
}

/** A tenant of a running service, with the calls of one of its keys. */
export interface TestTenant extends Caller {
  address: string
  db: Db
  database: Database
  keyRing: KeyRing
  tenantId: string
  /** The API key of the calls. */
  key: string
  /** Everything that was logged since the tenant was created, of other tenants, too, as JSON lines. */
  logLines: string[]
  createKey(options?: KeyOptions): Promise<{ id: string; text: string }>
  /** Creates another tenant of the same service, with a random name by default. */
  createTenant(name?: string, options?: Pick<TestAppOptions, 'scopes'>): Promise<TestTenant>
  /** The same calls with another credential; null for none. */
  as(credential: string | null): Caller
}

/** The service in this process with a tenant and a key, listening on its own port. */
export interface TestApp extends TestTenant, AsyncDisposable {
  /** Stops the service. */
  stop: Service['stop']
}

/** Work that no wake reports is found soon. */
const QUICK_PULSE = { pulseSeconds: 0.2 }

export async function openTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const { roles = ['api'], egressAllow = [], allowPlaintext = false, config, scopes, ...rest } = options
  const { certificateAuthority = null, pace, ...others } = rest
  const {
    database: given,
    keyRing = environmentKeyRing(randomBytes(32).toString('base64')),
    ...service
  } = others
  await using opened = new AsyncDisposableStack()
  const database = given ?? opened.use(await openTestDatabase())
  const { db } = database
  /** The lines of each tenant. */
  const logs: string[][] = [[]]
  const log = openLog({
    level: 'debug',
    format: 'json',
    destination: { write: line => logs.forEach(lines => void lines.push(line)) },
  })
  const outages = new OutageLog({ log, ask: () => database.pool.query('select') })
  const installation = {
    database,
    keyRing,
    isEmbedded: false,
    log: outages.log,
    abandon: async () => {},
    [Symbol.asyncDispose]: async () => outages[Symbol.dispose](),
  }
  const blobDir = config?.blobDir ?? opened.use(borrowBlobFolder(database)).path
  const running: Service = opened.use(
    await startOn(
      installation,
      {
        ...testConfig(),
        roles,
        egressAllow,
        allowPlaintext,
        certificateAuthorities: certificateAuthority,
        ...config,
        blobDir,
      },
      { isStrict: true, overload: neverOverloaded, pace: { ...QUICK_PULSE, ...pace }, ...service },
    ),
  )
  const pepper = await requireSealedValue(db, keyRing, 'credential_pepper')
  const address = running.address ?? 'http://no-api.invalid'
  const as = (credential: string | null) => callerOf(address, credential)

  async function openTenant(tenantId: string, logLines: string[], ofKey?: readonly Scope[]) {
    const createKey = (key: KeyOptions = {}) =>
      createApiKey(db, pepper, {
        tenantId: key.tenantId ?? tenantId,
        name: 'test',
        scopes: [...(key.scopes ?? SCOPES)],
        accountIds: key.accountIds ?? null,
        expiresAt: key.expiresAt ?? null,
      })
    const { text: key } = await createKey({ scopes: ofKey })
    return {
      ...as(key),
      address,
      db,
      database,
      keyRing,
      tenantId,
      key,
      logLines,
      createKey,
      createTenant: createTestTenant,
      as,
    }
  }
  async function createTestTenant(
    name = newId(),
    of: Pick<TestAppOptions, 'scopes'> = {},
  ): Promise<TestTenant> {
    const tenant = await createTenant(db, name)
    if (!tenant) throw new Error(`There is a tenant ${name} already`)
    const lines: string[] = []
    logs.push(lines)
    return openTenant(tenant.id, lines, of.scopes)
  }

  const first = await openTenant(await requireTenant(db), logs[0] ?? [], scopes)
  const owned = opened.move()
  return {
    ...first,
    stop: timing => running.stop(timing),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function testConfig(): Config {
  const config = readConfig({}, { isRoot: false, isTerminal: false })
  return { ...config, port: 0, metricsPort: 0 }
}

/** The tenant `default`, which a database that was used before has. */
async function requireTenant(db: Db): Promise<string> {
  const made = await createTenant(db, 'default')
  if (made) return made.id
  const { id } = await db
    .selectFrom('tenant')
    .select('id')
    .where('name', '=', 'default')
    .executeTakeFirstOrThrow()
  return id
}
