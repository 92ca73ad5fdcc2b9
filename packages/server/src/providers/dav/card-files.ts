/** The part of the adapter that knows vCards, in one place. */
export { editCard, newCard } from './cards/edit-card.ts'
export { readCard } from './cards/read-card.ts'
export { UnreadableCard } from './cards/card.ts'
export { UnwritableCard } from './cards/check-change.ts'
