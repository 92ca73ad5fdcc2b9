/** An object that is open for reading. Its content must be read, at least in part. */
export interface StoredObject {
  bytes: number
  content: AsyncGenerator<Buffer, void, void>
}

/** An object that is being written. It exists after `commit`, or, in a folder, already before. */
export interface ObjectWriter {
  write(bytes: Buffer): Promise<void>
  commit(): Promise<void>
  /** Removes what was written. */
  abort(): Promise<void>
}

export interface ListedObject {
  key: string
  modifiedAt: Date
}

/** Keeps the bytes of objects under keys: in a folder, or in a bucket. Writing to a key again replaces its object. */
export interface ObjectStore {
  /** Names the store in messages for people, such as "the folder /srv/blobs". */
  readonly name: string
  /** Writes an object that easily fits into memory. A durable one survives a power failure from then on. */
  put(key: string, content: Buffer, options?: { isDurable: boolean }): Promise<void>
  create(key: string): Promise<ObjectWriter>
  /** Throws `ObjectMissing` if there is none, and `StorageUnavailable` if that cannot be known. */
  open(key: string): Promise<StoredObject>
  /** Removes the whole object or nothing. Does nothing if there is none. */
  remove(key: string): Promise<void>
  /** Pages of objects below folders in the order of their keys, beginning behind a key. */
  list(after: string): AsyncGenerator<ListedObject[], void, void>
  /** Removes the parts of uploads that no process can still be writing. */
  sweepUploads(signal: AbortSignal): Promise<void>
}

/** The store works, and has no object of that key. */
export class ObjectMissing extends Error {
  override name = 'ObjectMissing'

  constructor(key: string, options?: ErrorOptions) {
    super(`There is no object ${key}`, options)
  }
}

/**
 * Why a store cannot be used. `refused`: its settings are wrong, which does not change by itself; `unreachable`: it does
 * not answer at all.
 */
export type Trouble = 'refused' | 'unreachable' | 'failing'

/** The store cannot be used now, which says nothing about its objects. The message is for people. */
export class StorageUnavailable extends Error {
  override name = 'StorageUnavailable'
  readonly trouble: Trouble

  constructor(trouble: Trouble, message: string, options?: ErrorOptions) {
    super(message, options)
    this.trouble = trouble
  }
}

/** Longest write of one object. An older, incomplete object belongs to a process that has died. */
export const WRITE_HOURS_MAX = 1

/** Objects on one page of a list. */
export const PAGE_OBJECTS = 1000
