import { sql } from 'kysely'

/**
 * A condition that always holds. The statement that has it, which is a transaction of its own, commits without waiting for
 * the disk: if the server crashes in the same second, its effect may be lost. For what is found again without it.
 */
export const unflushed = sql<boolean>`(select set_config('synchronous_commit', 'off', true)) = 'off'`
