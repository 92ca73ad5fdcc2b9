import { entriesOf } from '../history.ts'
import type { Check, Violation } from '../violation.ts'

/** I8: one effect for each Idempotency-Key: every success names the same thing, and the outbox has it once. */
export const checkIdempotency: Check = ({ history, end }) => {
  const succeeded = entriesOf(history, 'request').filter(
    ({ key, outcome }) => key !== null && outcome === 'ok',
  )
  const byKey = Map.groupBy(succeeded, ({ key }) => key)
  const several = [...byKey].flatMap(([key, requests]) => {
    const ids = new Set(requests.map(({ madeId }) => madeId))
    return ids.size > 1 ? [broken(`the key ${key} made ${[...ids].join(' and ')}`)] : []
  })
  const first = [...byKey].flatMap(([key, requests]) => {
    const count = requests.filter(({ isReplay }) => !isReplay).length
    return count > 1 ? [broken(`the key ${key} took effect ${count} times`)] : []
  })
  // Invitations have no key of a client.
  const sends = end.outbox.filter(({ key }) => key !== '')
  const entries = Map.groupBy(sends, ({ key }) => key)
  const doubled = [...entries].flatMap(([key, same]) =>
    same.length > 1 ? [broken(`the outbox has ${same.length} sends of the key ${key}`)] : [],
  )
  return [...several, ...first, ...doubled]
}

function broken(message: string): Violation {
  return { invariant: 'I8', message }
}
