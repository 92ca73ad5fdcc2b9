/** Names that are marked for a time, in all processes. */
export interface Marks {
  add(name: string, seconds: number): Promise<void>
  has(name: string): Promise<boolean>
  delete(name: string): Promise<void>
}
