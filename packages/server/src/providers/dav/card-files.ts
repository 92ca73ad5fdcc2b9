/** The part of the adapter that knows vCards, in one place. */
export { newCard } from './cards/edit-card.ts'
export type { CardPhoto } from './cards/photo.ts'
export { UnreadableCard } from './cards/card.ts'
export { UnwritableCard } from './cards/check-change.ts'
