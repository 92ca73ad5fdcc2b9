import type { Operation } from './document.ts'

export interface Route {
  method: string
  path: string
  operation: Operation
}
