import { type Scope, SCOPES } from '@waxwing/contract/operation.ts'
import { type Command, InvalidArgumentError } from 'commander'
import type { Db } from '../database/pool.ts'
import { requireSealedValue } from '../database/sealed-value.ts'
import {
  createApiKey,
  listApiKeys,
  listMissingAccounts,
  revokeApiKey,
} from '../features/tenancy/credentials/store.ts'
import { recordOperatorAction } from '../features/tenancy/audit-log/record-rows.ts'
import { listTenants } from '../features/tenancy/tenants/store.ts'
import { isUuid } from '../kit/ids.ts'
import { CommandError } from './command-error.ts'
import type { Connect } from './connect.ts'
import { NAME_RULE, isName } from './name.ts'
import { requireTenant } from './tenant.ts'

interface CreateOptions {
  tenant: string
  name: string
  scopes: Scope[]
  accounts?: string[]
  expires?: Date
  json?: boolean
}

export function register(program: Command, connect: Connect) {
  const key = program.command('key').description('API keys, with which programs use the API')

  key
    .command('create')
    .description('create an API key; it is shown only once')
    .option('--tenant <name>', 'the tenant of the key', 'default')
    .option('--name <name>', 'name of the key, for people', readName, 'key')
    .option('--scopes <scopes>', 'comma-separated; no scope includes another', readScopes, [...SCOPES])
    .option('--accounts <ids>', 'bind it to these accounts, comma-separated', readAccounts)
    .option('--expires <when>', 'an ISO 8601 time, or a duration such as 90d, 12h or 30m', readExpiry)
    .option('--json', 'print one line of JSON')
    .addHelpText(
      'after',
      `
Examples:
  $ npx waxwing key create --name backend --scopes read,write,send
  $ npx waxwing key create --tenant acme --name report --scopes read --expires 90d
  $ export WAXWING_KEY=$(npx waxwing key create --json | jq -r .key)`,
    )
    .action((options: CreateOptions) => create(options, connect))

  key
    .command('list')
    .description('list API keys without their secrets, newest first')
    .option('--tenant <name>', 'only keys of one tenant')
    .option('--json', 'print one line of JSON')
    .action((options: { tenant?: string; json?: boolean }) => list(options, connect))

  key
    .command('revoke')
    .description('revoke an API key; every process refuses it within 5 seconds')
    .argument('<id>', 'as shown by "key list"')
    .action(async (id: string) => {
      await using connection = await connect()
      if (!isUuid(id) || !(await revoke(connection.db, id.toLowerCase()))) {
        throw new CommandError(`There is no key ${id}. See "waxwing key list".`)
      }
      console.log(`Revoked the key ${id}.`)
    })
}

async function create(options: CreateOptions, connect: Connect) {
  const { name, scopes, accounts = null, expires = null, json } = options
  await using connection = await connect()
  const { db, keyRing } = connection
  const tenant = await requireTenant(db, options.tenant)
  const missing = accounts ? await listMissingAccounts(db, tenant.id, accounts) : []
  if (missing.length > 0)
    throw new CommandError(`The tenant "${tenant.name}" has no account ${missing.join(', ')}.`)

  const pepper = await requireSealedValue(db, keyRing, 'credential_pepper')
  const made = { tenantId: tenant.id, name, scopes, accountIds: accounts, expiresAt: expires }
  const { id, text } = await db.transaction().execute(async tx => {
    const created = await createApiKey(tx, pepper, made)
    await recordOperatorAction(tx, {
      tenantId: tenant.id,
      action: 'api_key.create',
      targets: { apiKeyId: created.id },
    })
    return created
  })
  if (!json) {
    console.log(`Created the key ${id}. It is shown only once:\n\n  ${text}\n`)
    return
  }
  const line = { id, key: text, tenant: tenant.name, name, scopes, accountIds: accounts, expiresAt: expires }
  console.log(JSON.stringify(line))
}

/** Returns false if there is no such key. */
async function revoke(db: Db, id: string): Promise<boolean> {
  return db.transaction().execute(async tx => {
    const tenantId = await revokeApiKey(tx, id)
    if (tenantId === null) return false
    await recordOperatorAction(tx, { tenantId, action: 'api_key.revoke', targets: { apiKeyId: id } })
    return true
  })
}

async function list(options: { tenant?: string; json?: boolean }, connect: Connect) {
  await using connection = await connect()
  const { db } = connection
  const tenants =
    options.tenant === undefined ? await listTenants(db) : [await requireTenant(db, options.tenant)]
  const keys = []
  for (const tenant of tenants) {
    for (const row of await listApiKeys(db, tenant.id)) keys.push(shown(tenant.name, row))
  }
  if (options.json) {
    console.log(JSON.stringify(keys))
    return
  }
  for (const { id, tenant, name, scopes, accountIds, expiresAt, revokedAt, lastUsedAt } of keys) {
    const notes = [
      ...(accountIds ? [`${accountIds.length} accounts`] : []),
      ...(revokedAt ? [`revoked ${revokedAt.toISOString()}`] : []),
      ...(expiresAt ? [`expires ${expiresAt.toISOString()}`] : []),
      lastUsedAt ? `last used ${lastUsedAt.toISOString()}` : 'never used',
    ]
    console.log(`${id}  ${tenant}  ${name}  ${scopes.join(',')}  ${notes.join(', ')}`)
  }
}

function shown(tenant: string, row: Awaited<ReturnType<typeof listApiKeys>>[number]) {
  return {
    id: row.id,
    tenant,
    name: row.name,
    scopes: row.scopes,
    accountIds: row.account_ids,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
    createdAt: row.created_at,
  }
}

function readName(text: string): string {
  if (!isName(text)) throw new InvalidArgumentError(NAME_RULE)
  return text
}

function readScopes(text: string): Scope[] {
  const given = new Set(text.split(',').map(part => part.trim()))
  const scopes = SCOPES.filter(scope => given.has(scope))
  if (scopes.length === 0 || scopes.length !== given.size) {
    throw new InvalidArgumentError(`Give some of ${SCOPES.join(', ')}, comma-separated.`)
  }
  return scopes
}

function readAccounts(text: string): string[] {
  const ids = text.split(',').map(part => part.trim().toLowerCase())
  if (!ids.every(isUuid)) throw new InvalidArgumentError('Give ids of accounts, comma-separated.')
  return [...new Set(ids)]
}

const SPAN = /^(\d{1,5})([dhm])$/
const MILLISECONDS: Record<string, number> = { d: 86_400_000, h: 3_600_000, m: 60_000 }
const TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/

function readExpiry(text: string): Date {
  const [, count, unit = ''] = SPAN.exec(text) ?? []
  const time =
    count === undefined ? readTime(text) : new Date(Date.now() + Number(count) * (MILLISECONDS[unit] ?? 0))
  if (!time) {
    throw new InvalidArgumentError(
      'Give a time such as 2030-01-31T12:00:00Z, or a duration such as 90d, 12h or 30m.',
    )
  }
  if (time.getTime() <= Date.now())
    throw new InvalidArgumentError('That is in the past, so the key would be useless.')
  return time
}

/** Returns null for a date that does not exist: Date reads the 31st of a shorter month as a day of the next month. */
function readTime(text: string): Date | null {
  const day = text.slice(0, 10)
  const isDay = TIME.test(text) && new Date(day).toJSON()?.startsWith(day) === true
  const time = new Date(text)
  return isDay && !Number.isNaN(time.getTime()) ? time : null
}
