import type { Doing } from './do-fault.ts'
import type { BOOK_FAULTS } from './fault-plan.ts'
import { withLink, withNewLinks } from './with-link.ts'

const SLOW_MILLISECONDS = 300
/** Some cut the headers of an answer, some a listing. */
const SHORT_BYTES = [100, 6_000] as const

type BookFault = (typeof BOOK_FAULTS)[number]

/** Faults of the network to the server of address books. */
export const DO_BOOK_FAULTS: Record<BookFault, (doing: Doing) => Promise<unknown>> = {
  books_cut: async ({ bed }) => bed.books.proxy.cutAll(),
  books_stalled: ({ bed, last }) => withLink(bed.books.proxy, { stalled: 'both' }, last),
  // Requests are carried out, and nobody gets their answers.
  books_one_way: ({ bed, last }) => withLink(bed.books.proxy, { stalled: 'to_client' }, last),
  books_slow: ({ bed, last }) => withLink(bed.books.proxy, { latencyMs: SLOW_MILLISECONDS }, last),
  books_short: ({ bed, last, random }) =>
    withNewLinks(bed.books.proxy, { cutAfterBytes: random.between(...SHORT_BYTES) }, last),
  books_refused: ({ bed, last }) => withNewLinks(bed.books.proxy, { isRefusing: true }, last),
}
