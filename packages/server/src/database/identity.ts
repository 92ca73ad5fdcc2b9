import type { ClientBase } from 'pg'

export type Session = Pick<ClientBase, 'query'>

/**
 * The identity of a database. Loading a dump elsewhere, recovery to a point in time, promoting a standby and putting
 * back a copy of the data folder each change one of these; a restart, VACUUM and migrations change none. Null if it is
 * not known: the role may not read it, or somebody else runs the server.
 */
export interface DatabaseIdentity {
  /** The identifier of the cluster, from initdb. */
  system: string | null
  /**
   * The timeline of the write-ahead log. Every recovery that ends before the log's end, and every promotion, starts a
   * new one.
   */
  timeline: string | null
  /** Oids of the database and of the table `feed_epoch`. */
  database: string
  table: string
  /** The folder of the cluster. */
  inode: string | null
  birth: string | null
}

/** An earlier release may have stored less. */
export type StoredIdentity = Partial<DatabaseIdentity>
