export const INDEX_OPTIONS: {
  fields: string[]
  storeFields: string[]
  processTerm(term: string): string | null
}

export interface Found {
  to: string
  title: string
  page: string
  kind: string
}

export function findPlaces(
  index: { search(query: string, options: object): unknown[] },
  query: string,
  count: number,
): Found[]
