/** The yardstick of sending in a separate process: nodemailer alone, with its task as JSON on standard input. */
import { Readable } from 'node:stream'
import { createTransport } from 'nodemailer'
import { Pool } from 'pg'
import { clientSettings, type DatabaseAddress } from '../packages/server/src/database/pool.ts'
import { answerTask, runTask } from './child-task.ts'

interface Task {
  port: number
  address: DatabaseAddress
  /** The whole message, with CRLF. */
  message: string
  count: number
  connections: number
}

export interface NodemailerFigures {
  perSecond: number
}

/** Sends the same message many times, with one commit before the dot and one after the answer to it. */
export function runNodemailer(task: Task): Promise<NodemailerFigures> {
  return runTask(import.meta.url, task)
}

async function sendAll({ port, address, message, count, connections }: Task): Promise<NodemailerFigures> {
  const pool = new Pool({ ...clientSettings(address, 'waxwing bench'), max: connections })
  await pool.query('create table if not exists bench_send (id integer primary key, is_sent boolean not null)')
  await pool.query('truncate bench_send')
  const transport = createTransport({
    host: '127.0.0.1',
    port,
    secure: false,
    ignoreTLS: true,
    pool: true,
    maxConnections: connections,
    maxMessages: Infinity,
  })
  const bytes = Buffer.from(message)
  const envelope = { from: 'ada@bench.test', to: 'grace@bench.test' }
  async function* contentOf(id: number) {
    yield bytes
    await pool.query({ name: 'before', text: 'insert into bench_send values ($1, false)', values: [id] })
  }
  const start = performance.now()
  let next = 0
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (let id = next++; id < count; id = next++) {
        await transport.sendMail({ envelope, raw: Readable.from(contentOf(id), { objectMode: false }) })
        const text = 'update bench_send set is_sent = true where id = $1'
        await pool.query({ name: 'after', text, values: [id] })
      }
    }),
  )
  const seconds = (performance.now() - start) / 1000
  transport.close()
  await pool.query('drop table bench_send')
  await pool.end()
  return { perSecond: count / seconds }
}

if (import.meta.main) await answerTask(sendAll)
