// The replies of the calls below v1/config.

export interface ConfigMistake { file?: string; line: number; column: number; key: string; message: string }

export interface ConfigText { text: string; etag: string; path: string; writable: boolean; why?: string; errors: ConfigMistake[]; warnings: ConfigMistake[] }

export interface ConfigCheck { errors: ConfigMistake[]; warnings: ConfigMistake[]; diff: string; dangerous: string[] }

export interface ConfigSaved { etag: string; restart: string[]; problem?: string }

export interface ConfigCode { dangerous: string[]; expires_at: string }

export interface ConfigVersion { id: string; replaced_at: string; replaced_by: string }

export interface ConfigVersionText extends ConfigVersion { text: string; why?: string }
