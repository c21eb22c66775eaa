// The section on RMSNorm's cost in Russian. The same keys stand in en.js.

/** @type {Record<string, string>} */
export default {
  rmsCostText:
    "В русском документе сказано, что RMSNorm снижает затраты на <span class='number'>10–15 %</span>. Сколько она сберегает на деле, зависит от формы данных, от машины и от кода обеих нормализаций. Здесь — код этого пакета на вашей машине: обе на данных, которые уже лежат в памяти WebAssembly, измеряются по очереди.",
  rmsCostRun: "Измерить",
  rmsCostRunning: "Измеряем {shape}, {n} из {count}…",
  rmsCostDone:
    "При одинаковом масштабе RMSNorm сберегает здесь от {least} до {most}, смотря по форме; в заявленные 10–15 % попадает форм: {within} из {count}.",
  rmsCostCaption:
    "Время вызова, медиана, на этой машине. Полосы — до 50 %; заявленные <span class='number'>10–15 %</span> выделены.",
  rmsCostShape: "Строки × признаки",
  rmsCostWithBias: "LayerNorm со сдвигом",
  rmsCostLayer: "LayerNorm, только масштаб",
  rmsCostRms: "Сама RMSNorm",
  rmsCostSavedWithBias: "Сбережено против LayerNorm со сдвигом",
  rmsCostSaved: "Сбережено при том же масштабе",
  rmsCostMs: "{value} мс",
  rmsCostUs: "{value} мкс",
  rmsCostConditions:
    "float32, один поток. Каждое время — медиана, до 101 замера; каждый замер длинен рядом с шагом часов браузера. В моделях у LayerNorm есть сдвиг, а у RMSNorm его нет, поэтому они сберегают чуть больше, чем сама нормализация.",
};
