import { Client, Pool } from 'pg'
import { currentOwner, note, type Owner, runAs } from './ledger.ts'

/** The parts of `pg` that its types leave out. */
interface PoolInside {
  on(this: Pool, ...args: unknown[]): Pool
  newClient(this: Pool, ...args: unknown[]): unknown
}
interface ClientInside {
  database?: string
  connection: { stream: { destroyed: boolean } }
}

/** Notes each connection to a database. Connections of a pool belong to the test that opened the pool. */
export function watchSessions(): void {
  const pools = new WeakMap<Pool, { owner: Owner }>()
  const inside = Pool.prototype as unknown as PoolInside
  const { on, newClient } = inside
  // The constructor cannot be replaced, and `openDatabase` listens at once.
  inside.on = function (...args) {
    if (!pools.has(this)) pools.set(this, { owner: currentOwner() })
    return on.apply(this, args)
  }
  inside.newClient = function (...args) {
    const { owner } = pools.get(this) ?? { owner: currentOwner() }
    return runAs(owner, () => newClient.apply(this, args))
  }
  const client = Client.prototype as unknown as { connect(this: Client, ...args: unknown[]): unknown }
  const { connect } = client
  client.connect = function (...args) {
    const { connection, database = '' } = this as unknown as ClientInside
    note(
      'database session',
      () => database,
      () => !connection.stream.destroyed,
    )
    return connect.apply(this, args)
  }
}
