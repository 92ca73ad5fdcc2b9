import { type Command, InvalidArgumentError } from 'commander'
import { requireSealedValue } from '../database/sealed-value.ts'
import { openChain } from '../features/tenancy/audit-log/chain.ts'
import { keptHeads, type MissingHead } from '../features/tenancy/audit-log/heads.ts'
import { type Finding, type Verification, verifyChain } from '../features/tenancy/audit-log/verify.ts'
import { listTenants, type TenantRow } from '../features/tenancy/tenants/store.ts'
import { openBlobStore } from '../kit/blobs/blob-store.ts'
import { openObjects } from '../start/blobs.ts'
import type { Connect } from './connect.ts'
import { requireTenant } from './tenant.ts'

/** The exit code if the audit log is not as it was written. */
const EXIT_CHANGED = 2
/** Findings of a tenant that are printed; the rest is counted. */
const FINDINGS_SHOWN_MAX = 100

export function register(program: Command, connect: Connect) {
  const audit = program.command('audit').description('the audit log: who changed what')

  audit
    .command('verify')
    .description(
      'check that no row of the audit log was edited, removed, put in or moved since it joined its chain',
    )
    .option('--tenant <name>', 'only the log of one tenant')
    .option(
      '--head <hash>',
      'a head that you kept: it must still be in a log, or rows up to it are missing',
      readHash,
    )
    .option('--json', 'print one line of JSON for each tenant')
    .addHelpText(
      'after',
      `
The rows of a tenant form a chain: each is authenticated, together with the one before, by a key of the installation.
Rows join it within 5 seconds. The service may run meanwhile.

Somebody who can write to the database but does not have the key cannot change a row unnoticed, nor remove one between
others. That the newest rows were cut off together with all signs of it shows only against a head that was kept
elsewhere. The service keeps the heads of each day beside the stored bodies, and this command compares with them. It also
writes them to its log ("Head of an audit log"): give one from there with --head.

Not found are changes to rows that wait for their chain, in the table audit_open: a row that was edited, removed or put in
there joins its chain, or is missing, like any other.

Exit code: 0 if everything is as it was written, 2 if not, 1 if it could not be checked.

Examples:
  $ npx waxwing audit verify
  $ npx waxwing audit verify --tenant acme --head 5f0c…`,
    )
    .action((options: VerifyOptions) => verify(options, connect))
}

interface VerifyOptions {
  tenant?: string
  head?: string
  json?: boolean
}

async function verify(options: VerifyOptions, connect: Connect) {
  await using connection = await connect()
  const { db, keyRing, config } = connection
  const tenants =
    options.tenant === undefined ? await listTenants(db) : [await requireTenant(db, options.tenant)]
  const key = await requireSealedValue(db, keyRing, 'audit_key')
  const chain = openChain(key)
  const heads = new Set(options.head === undefined ? [] : [options.head])
  for (const tenant of tenants) {
    const shown: Finding[] = []
    const verification = await db
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute(tx =>
        verifyChain(tx, chain, tenant.id, {
          heads,
          report: finding => void (shown.length < FINDINGS_SHOWN_MAX && shown.push(finding)),
        }),
      )
    if (verification.findings > 0) process.exitCode = EXIT_CHANGED
    const print = options.json ? jsonOf : linesOf
    for (const line of print(tenant, verification, shown)) console.log(line)
  }
  for (const hash of heads) tellMissing(options, { hash }, `The head ${hash} is in no log`)
  const names = new Map(tenants.map(({ id, name }) => [id, name]))
  const kept = keptHeads(key, openBlobStore(await openObjects(config)))
  for await (const found of kept.compare(db, Date.now())) {
    if (found.kind === 'unreadable') tellUnreadable(options, found.day)
    else tellMissingOf(options, found, names)
  }
}

function tellMissingOf(
  options: VerifyOptions,
  { tenantId, day, position, hash }: MissingHead,
  names: ReadonlyMap<string, string>,
) {
  const name = names.get(tenantId)
  const head = { tenantId, position, hash, day }
  if (name !== undefined) tellMissing(options, head, `${name}: the head of ${day} is not in the log`)
}

function tellMissing({ json }: VerifyOptions, missingHead: object, what: string) {
  process.exitCode = EXIT_CHANGED
  console.log(json ? JSON.stringify({ missingHead }) : `${what}, so rows up to it were removed or replaced.`)
}

function tellUnreadable({ json }: VerifyOptions, day: string) {
  process.exitCode = EXIT_CHANGED
  console.log(
    json
      ? JSON.stringify({ unreadableHeads: { day } })
      : `The file with the heads of ${day} is damaged or cannot be read, so nothing was compared with it.`,
  )
}

function linesOf(
  { name }: TenantRow,
  { rows, waiting, head, findings }: Verification,
  shown: readonly Finding[],
): string[] {
  const notYet =
    waiting === 0
      ? []
      : [`  Not chained yet: ${waiting}. A process with the role jobs does that within seconds.`]
  if (findings === 0) {
    const ending = `Head: row ${head.position}, ${head.hash.toString('hex')}`
    const text = head.position === 0n ? 'no rows.' : `${rows} rows are as they were written. ${ending}`
    return [`${name}: ${text}`, ...notYet]
  }
  const rest = findings > shown.length ? [`  and ${findings - shown.length} more`] : []
  const found = shown.map(finding => `  ${describe(finding)}`)
  return [`${name}: the log was changed.`, ...found, ...rest, ...notYet]
}

function jsonOf(
  { id, name }: TenantRow,
  { rows, waiting, head, findings }: Verification,
  shown: readonly Finding[],
): string[] {
  const position = (_: string, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)
  const shownHead = { position: head.position, hash: head.hash.toString('hex') }
  const line = {
    tenantId: id,
    tenant: name,
    rows,
    waiting,
    head: shownHead,
    count: findings,
    findings: shown,
  }
  return [JSON.stringify(line, position)]
}

function describe(finding: Finding): string {
  switch (finding.kind) {
    case 'changed':
      return `Row ${finding.position} (${finding.id}) is not as it was written.`
    case 'removed':
      return finding.from === finding.to
        ? `Row ${finding.from} was removed.`
        : `Rows ${finding.from} to ${finding.to} were removed.`
    case 'added':
      return `Row ${finding.position} (${finding.id}) does not belong to the log.`
    case 'ends':
      return 'The record of the first and the last row was changed, so rows may be missing at either end.'
    case 'noticed':
      return `The service noticed a change from outside when row ${finding.position} was the last one.`
  }
}

function readHash(text: string): string {
  if (/^[0-9a-f]{64}$/i.test(text)) return text.toLowerCase()
  throw new InvalidArgumentError('Give 64 hexadecimal digits.')
}
