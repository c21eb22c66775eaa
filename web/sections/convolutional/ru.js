// The section's words in Russian.

/** @type {Record<string, string>} */
export default {
  convolutionalBatch: "BatchNorm, по батчу",
  convolutionalGroup: "GroupNorm, 4 группы",
  convolutionalLayer: "LayerNorm (одна группа)",
  convolutionalChart:
    "Доля новых цифр, в которых ошибается небольшая свёрточная сеть, по размеру батча, медиана по трём зёрнам.",
  convolutionalError: "Ошибок на новых цифрах",
  convolutionalSeen: "показано цифр",
  convolutionalOption: "Батч",
  convolutionalFinding:
    "Измеренное здесь, на цифрах 8 × 8 пикселей, показанных по одному разу ({seen} штук): малые батчи не повредили BatchNorm — по одной цифре она ошибается в {batch} случаев, GroupNorm в {group}, LayerNorm в {layer}. В канале остаётся 64 или 16 позиций для усреднения, и сеть мала. Того, что в статьях найдено для больших сетей на фотографиях, при таком размере не видно.",
  convolutionalHow:
    "Тот же код, цифр меньше: 384 цифры MNIST для обучения, по одному разу, и 200 других для проверки; две свёртки из 8 и 16 каналов, после каждой нормализация и ReLU. Кривые — средние по последним 48 цифрам.",
  convolutionalNow:
    "При батче {size} на 200 новых цифрах BatchNorm ошибается в {batch} случаев, GroupNorm в {group}, LayerNorm в {layer}.",
};
