import { Client } from 'pg'
import { expect, test } from 'vitest'
import { makeExternalDatabase } from '../../../test/external-database.ts'
import { CommandError } from '../command-error.ts'
import { within } from './bounded.ts'

test('gives up a connection that does not answer in time, and says so', async () => {
  await using external = await makeExternalDatabase()
  const client = new Client(external.url)
  client.on('error', () => {})
  await client.connect()
  const answer = await within(client, 60, client.query<{ one: number }>('select 1 as one'))
  expect(answer.rows).toEqual([{ one: 1 }])

  await expect(within(client, 60, client.query('select nothing'))).rejects.toThrow('"nothing" does not exist')
  const late = within(client, 0.1, client.query('select pg_sleep(600)'))
  await expect(late).rejects.toThrow(new CommandError('The database did not answer for 0.1 seconds.'))
  await expect(client.query('select 1')).rejects.toThrow()
})
