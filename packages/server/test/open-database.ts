import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { inject } from 'vitest'
import { SUPERUSER } from '../src/database/embedded/cluster.ts'
import { clientSettings, type Database, type DatabaseAddress, openDatabase } from '../src/database/pool.ts'

export interface TestDatabaseOptions {
  /** If false, the database is empty, without the schema. */
  migrated?: boolean
  connectionsMax?: number
  answerSeconds?: number
}

/** A database for one test, copied from the migrated template and dropped when disposed. */
export async function openTestDatabase(options: TestDatabaseOptions = {}): Promise<Database> {
  const { template } = inject('postgres')
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const source = options.migrated === false ? 'template0' : template
  await administer(`create database ${name} template ${source} strategy file_copy`)
  const database = openDatabase({
    address: addressOf(name),
    applicationName: 'waxwing test',
    connectionsMax: options.connectionsMax,
    answerSeconds: options.answerSeconds,
  })
  return {
    ...database,
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]()
      await administer(`drop database ${name} with (force)`)
    },
  }
}

function addressOf(database: string): DatabaseAddress {
  const { socketFolder, password } = inject('postgres')
  return { socketFolder, user: SUPERUSER, password, database }
}

async function administer(statement: string) {
  const client = new Client(clientSettings(addressOf('postgres'), 'waxwing test'))
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
