import { ImapFlow } from 'imapflow'
import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import { short } from './figures.ts'
import { openPatch } from './http.ts'
import { compareLoad } from './load.ts'
import { makeFullMailbox } from './mailbox.ts'
import type { Benchmark } from './row.ts'
import { openItsDatabase } from './same-sql.ts'
import { startBenchService } from './service.ts'

const MESSAGES = 1000
/** Messages that are marked in turn, by the service and by the yardstick. */
const MARKED = 50

export const changeMessage: Benchmark = {
  name: 'change-message',
  about:
    'PATCH of isRead over HTTP with a key, compared with a STORE by imapflow and one commit by pg, one after the other.',
  async run(report) {
    await using server = await startDovecot()
    const user = await makeFullMailbox(server, MESSAGES)
    // In one mailbox, each would hear of what the other changes, and the service would compare it all the time.
    const other = await makeFullMailbox(server, MESSAGES)
    await using service = await startBenchService()
    const accountId = await service.connect(server, user)
    await service.untilInitialized(accountId)
    const path = `/v1/accounts/${accountId}/messages`
    const { body } = await service.get<{ items: Array<{ id: string }> }>(`${path}?limit=${MARKED}`)
    using client = openPatch(service)
    let patches = 0
    const http = () => {
      const { id } = body.items[patches % MARKED]!
      return client.patch(`${path}/${id}`, { isRead: Math.floor(patches++ / MARKED) % 2 === 0 })
    }

    await using database = await openItsDatabase(service.folder.path)
    await database.pool.query('create table bench_commit (uid integer primary key, is_read boolean)')
    const login = { user: other.user, pass: other.password }
    const imap = new ImapFlow({
      host: server.host,
      port: server.port,
      secure: false,
      auth: login,
      logger: false,
    })
    await imap.connect()
    await imap.mailboxOpen('INBOX')
    let stores = 0
    const store = async () => {
      const uid = MESSAGES - (stores % MARKED)
      const isRead = Math.floor(stores++ / MARKED) % 2 === 0
      await imap[isRead ? 'messageFlagsAdd' : 'messageFlagsRemove'](String(uid), ['\\Seen'], { uid: true })
      await database.pool.query({
        name: 'mark',
        text: `insert into bench_commit values ($1, $2) on conflict (uid) do update set is_read = excluded.is_read`,
        values: [uid, isRead],
      })
    }

    const figures = await compareLoad(1, { store, http })
    await imap.logout()
    report({
      measure: 'PATCH isRead, p50 in ms',
      result: short(figures.http.p50Ms),
      yardstick: `STORE and commit ${short(figures.store.p50Ms)}`,
      ratio: figures.http.p50Ms / figures.store.p50Ms,
      target: '≤ 2 (1.5)',
      cpu: figures.http.cpu,
    })
  },
}
