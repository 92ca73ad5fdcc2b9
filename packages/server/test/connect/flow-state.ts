import { sql } from 'kysely'
import type { useConnect } from './open-connect.ts'

type Connect = Pick<ReturnType<typeof useConnect>, 'app' | 'newUser' | 'sandbox'>

/** Everything that a flow may change. */
export async function readState({ app }: Connect): Promise<string> {
  const tables = ['account', 'account_secret', 'connect_session', 'connect_attempt', 'event', 'audit_open']
  const rows = tables.map(table => sql`select * from ${sql.table(table)} order by 1`.execute(app.db))
  return JSON.stringify((await Promise.all(rows)).map(result => result.rows))
}

/** The address to which the sandbox sends the browser of a new user after consent. It has not been there yet. */
export async function answerOf({ newUser, sandbox }: Connect, authorizeUrl: string): Promise<URL> {
  return new URL((await sandbox.authorize(authorizeUrl, await newUser())).redirectUrl)
}
