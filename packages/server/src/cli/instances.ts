import type { Command } from 'commander'
import { type ListedInstance, listInstances } from '../processes/list-instances.ts'
import type { Connect } from './connect.ts'

export function register(program: Command, connect: Connect) {
  program
    .command('instances')
    .description('list the running processes of this installation')
    .option('--json', 'print one line of JSON')
    .addHelpText(
      'after',
      `
Each line: id, host, version, roles, the age of the last heartbeat, and the accounts that the process keeps in sync. An
account's runtime.ownerInstanceId is such an id. The weight says how much work its accounts make: an empty account
counts 1, one with 10,000 messages 2. Processes with the role "sync" share the accounts evenly by weight.
A process that is "silent" has not sent a heartbeat for 10 seconds; the others are taking its accounts over.

Examples:
  $ npx waxwing instances
  $ npx waxwing instances --json | jq '.instances[] | {host, accounts}'`,
    )
    .action(list)

  async function list({ json }: { json?: boolean }) {
    await using connection = await connect()
    const instances = await listInstances(connection.db)
    if (json) return console.log(JSON.stringify({ instances: instances.map(shown) }))
    for (const each of instances) console.log(describe(each))
    if (instances.length === 0) console.log('No process is running.')
  }
}

function shown({ id, host, version, roles, accounts, weight, ...row }: ListedInstance) {
  return {
    id,
    host,
    version,
    roles,
    startedAt: row.started_at.toISOString(),
    heartbeatAt: row.heartbeat_at?.toISOString() ?? null,
    isLive: row.is_live,
    accounts,
    weight,
  }
}

function describe({ id, host, version, roles, accounts, weight, ...row }: ListedInstance): string {
  const age =
    row.heartbeat_seconds === null ? 'heartbeat unknown' : `heartbeat ${aged(row.heartbeat_seconds)} ago`
  const weighed = weight === null ? '' : `, weight ${weight.toFixed(1)}`
  const owned = `${accounts} ${accounts === 1 ? 'account' : 'accounts'}${weighed}`
  const fields = [
    id,
    host ?? '-',
    version ?? '-',
    roles.join(','),
    row.is_live ? age : `silent, ${age}`,
    owned,
  ]
  // A host names itself, and a terminal would execute control characters.
  return fields.map(field => field.replaceAll(/\p{C}/gu, ' ')).join('  ')
}

function aged(seconds: number): string {
  return `${Math.max(0, seconds).toFixed(1)} s`
}
