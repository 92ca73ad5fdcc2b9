import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import { startRadicale } from '../packages/server/test/servers/radicale.ts'
import { makeFullBook } from './address-book.ts'
import { type Cpu, meterCpu } from './cpu.ts'
import { addHalf, removeHalf, untilHalf } from './dav-account.ts'
import { percentile, short } from './figures.ts'
import { openPatch } from './http.ts'
import { makeFullMailbox } from './mailbox.ts'
import type { Benchmark } from './row.ts'
import { startBenchService } from './service.ts'

const CARDS = Number(process.env['WAXWING_BENCH_CARDS'] ?? 5_000)
const MESSAGES = 1_000
/** Messages that are marked in turn. */
const MARKED = 50
const ROUNDS = 3
const ROUND_SECONDS = 10

export const contactsFence: Benchmark = {
  name: 'contacts-fence',
  about: `PATCH of isRead during the first sync of the account's 5,000 contacts, compared with without, in turn.`,
  async run(report) {
    await using server = await startDovecot()
    await using books = await startRadicale()
    const user = await makeFullMailbox(server, MESSAGES)
    const davUser = await makeFullBook(books, CARDS)
    await using service = await startBenchService()
    const accountId = await service.connect(server, user)
    await service.untilInitialized(accountId)
    const path = `/v1/accounts/${accountId}/messages`
    const { body } = await service.get<{ items: Array<{ id: string }> }>(`${path}?limit=${MARKED}`)
    let patches = 0
    const measure = async (isOver: () => boolean) => {
      // The service closes connections that were idle while the contacts left the index.
      using client = openPatch(service)
      const tookMs: number[] = []
      const used = meterCpu()
      while (!isOver()) {
        const { id } = body.items[patches % MARKED]!
        const isRead = Math.floor(patches++ / MARKED) % 2 === 0
        const before = performance.now()
        await client.patch(`${path}/${id}`, { isRead })
        tookMs.push(performance.now() - before)
      }
      return { p95: percentile(tookMs, 0.95), cpu: used(tookMs.length) }
    }
    const forSeconds = () => {
      const end = performance.now() + ROUND_SECONDS * 1_000
      return measure(() => performance.now() > end)
    }

    await forSeconds()
    const rounds: Array<{ without: number; beside: number; ratio: number; cpu: Cpu }> = []
    for (let round = 0; round < ROUNDS; round++) {
      const { p95: without } = await forSeconds()
      await addHalf(service, accountId, {
        half: 'contacts',
        user: davUser,
        origin: books.url.origin,
      })
      let isOver = false
      const synced = untilHalf(service, accountId, 'contacts', true).finally(() => (isOver = true))
      // If a PATCH fails, its failure is reported, and not that the service is gone afterwards.
      synced.catch(() => {})
      const { p95: beside, cpu } = await measure(() => isOver)
      await synced
      rounds.push({ without, beside, ratio: beside / without, cpu })
      await removeHalf(service, accountId, 'contacts')
    }
    const typical = rounds.toSorted((one, other) => one.ratio - other.ratio)[Math.floor(ROUNDS / 2)]!
    report({
      measure: `PATCH isRead during the first sync of ${short(CARDS)} contacts, p95 in ms`,
      result: short(typical.beside),
      yardstick: `without ${short(typical.without)}`,
      ratio: typical.ratio,
      target: '≤ 1.2',
      cpu: typical.cpu,
    })
  },
}
